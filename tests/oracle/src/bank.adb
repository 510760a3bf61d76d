--  SPDX-License-Identifier: Apache-2.0
--  A little bank: nested subprograms, a generic package, a task, tagged types, exceptions.
with Ada.Containers.Ordered_Maps;
with Ada.Strings.Unbounded; use Ada.Strings.Unbounded;
with Ada.Text_IO; use Ada.Text_IO;

procedure Bank is

   type Cents is range -10**12 .. 10**12;
   Overdrawn : exception;

   package Accounts is new Ada.Containers.Ordered_Maps (Unbounded_String, Cents);

   generic
      type Item is private;
      with function Image (X : Item) return String;
   package Journals is
      procedure Note (X : Item);
      function Length return Natural;
   private
      Count : Natural := 0;
   end Journals;

   package body Journals is
      procedure Note (X : Item) is
         function Decorated return String is ("[" & Image (X) & "]");
      begin
         Count := Count + 1;
         if Count mod 1000 = 0 then
            Put_Line (Decorated);
         end if;
      end Note;

      function Length return Natural is (Count);
   end Journals;

   package Rules is
      type Rule is tagged null record;
      function Fee (R : Rule; Amount : Cents) return Cents;
      type Percent is new Rule with record
         Share : Cents := 1;
      end record;
      overriding function Fee (R : Percent; Amount : Cents) return Cents;
   end Rules;

   package body Rules is
      function Fee (R : Rule; Amount : Cents) return Cents is (if Amount > 0 then 1 else 0);
      overriding function Fee (R : Percent; Amount : Cents) return Cents is
        (Amount * R.Share / 100);
   end Rules;

   function Cents_Image (X : Cents) return String is (X'Image);
   package Journal is new Journals (Cents, Cents_Image);
   Book : Accounts.Map;

   procedure Move (From, To : String; Amount : Cents; By : Rules.Rule'Class) is
      procedure Change (Who : String; D : Cents) is
         Key : constant Unbounded_String := To_Unbounded_String (Who);
         Old : constant Cents := (if Book.Contains (Key) then Book.Element (Key) else 0);
      begin
         if Old + D < -100_000 then
            raise Overdrawn with Who;
         end if;
         Book.Include (Key, Old + D);
      end Change;
      Fee : constant Cents := Rules.Fee (By, Amount);
   begin
      Change (From, -Amount - Fee);
      Change (To, Amount);
      Journal.Note (Amount);
   end Move;

   task Clerk is
      entry Post (Amount : Cents);
      entry Close;
   end Clerk;

   task body Clerk is
      Plain : Rules.Rule;
      Share : Rules.Percent;
   begin
      loop
         select
            accept Post (Amount : Cents) do
               Move ("anna", "otto", Amount, Plain);
               Move ("otto", "anna", Amount, Share);
            end Post;
         or
            accept Close;
            exit;
         end select;
      end loop;
   exception
      when others => Put_Line ("the clerk went home");
   end Clerk;

begin
   for I in 1 .. 600 loop
      Clerk.Post (Cents (I mod 7) + 1);
   end loop;
   Clerk.Close;
   for C in Book.Iterate loop
      Put_Line (To_String (Accounts.Key (C)) & Accounts.Element (C)'Image);
   end loop;
   Put_Line (Journal.Length'Image);
exception
   when Overdrawn => Put_Line ("no money");
end Bank;
