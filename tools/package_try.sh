#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a bare Debian, with packages in /try: installs them, runs their smoke test, upgrades them to the
# same under a higher version, and purges them. Run by tools/package.sh.
set -eux
cd /try
install() {
	apt-get install -qq -y --no-install-recommends "$@"
}
clean() {
	rm -rf /var/cache/apt/archives/*.deb
}

apt-get update -qq
install gcc libc6-dev pkgconf
addr2line --version | grep -q GNU

rm -f ./*-dbgsym_*.deb
install ./*.deb
./smoke

# Again the same packages, one version higher. What an operator changed stays.
mkdir next
echo 'UNHEX_URL=http://127.0.0.1:1' >>/etc/default/unhex
chmod 644 /etc/default/unhex # the mode of a package before this one
mkdir -p /var/lib/unhex && touch /var/lib/unhex/kept
for deb in *.deb; do
	dpkg-deb -R "$deb" tree
	version=$(sed -n 's/^Version: //p' tree/DEBIAN/control)
	sed -i "/^Version\|^Depends/s/$version/$version+next/g" tree/DEBIAN/control
	dpkg-deb -b tree "next/$deb" >/dev/null
	rm -rf tree
done
install ./next/*.deb
dpkg-query -W -f '${Package} ${Version} ${Status}\n' '*unhex*' >now
if grep -v '+next install ok installed' now; then
	exit 1
fi
grep -q UNHEX_URL /etc/default/unhex
[ -e /var/lib/unhex/kept ]
./smoke

# Removed, then purged, in the order in which a person would.
apt-get remove -qq -y 'unhex*' 'libunhex*'
[ -e /var/lib/unhex/kept ]
addr2line --version | grep -q GNU
apt-get purge -qq -y 'unhex*'
clean
find / -xdev -name '*unhex*' ! -path '/try/*' ! -path '/proc/*' ! -path '/dev/*' >left
cat left
[ ! -s left ]
[ -z "$(dpkg-divert --list '*addr2line*')" ]
[ -z "$(dpkg-divert --list '*symbolizer*')" ]
echo 'try: good'
