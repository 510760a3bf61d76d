! SPDX-License-Identifier: Apache-2.0
! Heat on a plate: modules, contained procedures, generic interfaces, array expressions.
module plate_kinds
  implicit none
  integer, parameter :: wp = kind(1.0d0)

  type :: plate
    real(wp), allocatable :: cell(:, :)
  contains
    procedure :: start => plate_start
    procedure :: warmth => plate_warmth
  end type plate

  interface blend
    module procedure blend_scalar, blend_row
  end interface blend

contains

  subroutine plate_start(self, n)
    class(plate), intent(inout) :: self
    integer, intent(in) :: n
    integer :: k
    allocate (self%cell(n, n))
    self%cell = 0.0_wp
    self%cell(:, 1) = edge([(real(k, wp), k = 1, n)])
  contains
    pure function edge(x) result(y)
      real(wp), intent(in) :: x(:)
      real(wp) :: y(size(x))
      y = 100.0_wp * sin(x / size(x))
    end function edge
  end subroutine plate_start

  pure function plate_warmth(self) result(total)
    class(plate), intent(in) :: self
    real(wp) :: total
    total = sum(self%cell) / size(self%cell)
  end function plate_warmth

  elemental function blend_scalar(a, b, share) result(c)
    real(wp), intent(in) :: a, b
    real(wp), intent(in) :: share
    real(wp) :: c
    c = a + share * (b - a)
  end function blend_scalar

  function blend_row(a, b, share) result(c)
    real(wp), intent(in) :: a(:), b(:)
    real, intent(in) :: share
    real(wp) :: c(size(a))
    c = blend_scalar(a, b, real(share, wp))
  end function blend_row
end module plate_kinds

program heat
  use plate_kinds
  implicit none
  type(plate) :: p
  integer :: i
  call p%start(64)
  do i = 1, 200
    call step(p)
  end do
  print '(a, f10.4)', 'mean ', p%warmth()

contains

  subroutine step(it)
    type(plate), intent(inout) :: it
    real(wp), allocatable :: next(:, :)
    integer :: j, n
    n = size(it%cell, 1)
    next = it%cell
    do j = 2, n - 1
      next(2:n - 1, j) = neighbours(it%cell, j)
    end do
    do j = 2, n - 1
      it%cell(:, j) = blend(it%cell(:, j), next(:, j), 0.5)
    end do
  end subroutine step

  function neighbours(cell, column) result(mean)
    real(wp), intent(in) :: cell(:, :)
    integer, intent(in) :: column
    real(wp) :: mean(size(cell, 1) - 2)
    integer :: n
    n = size(cell, 1)
    mean = (cell(1:n - 2, column) + cell(3:n, column) &
            + cell(2:n - 1, column - 1) + cell(2:n - 1, column + 1)) / 4
  end function neighbours
end program heat
