# Meson builds unhex; this is for fingers that type make.
all:
	@test -f build/build.ninja || meson setup build
	ninja -C build
test:
	./dev test
asan:
	tools/checks.sh asan
fuzz:
	./dev fuzz
format:
	./dev format
clean:
	rm -rf build build-*
.PHONY: all test asan fuzz format clean
