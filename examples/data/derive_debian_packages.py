#!/usr/bin/env python3
"""Derives debian-packages.mtx and debian-packages.names from a Debian package index.

    curl -LO https://deb.debian.org/debian/dists/bookworm/main/binary-amd64/Packages.xz
    python3 derive_debian_packages.py Packages.xz

The graph: the packages below and all that they need, directly or not. Row a has an entry in column b when
a depends on b (Depends and Pre-Depends). Of alternatives `b | c` the first is taken; a virtual package stands
for the first, by name, of the packages that provide it. Packages are numbered from 1 in the order of their
names; line i of the .names file is the name of package i.
"""

import lzma
import pathlib
import re
import sys

CHOSEN = """
    apache2 ardour audacity bind9 blender build-essential chromium clang cmake cups darktable debhelper
    digikam docker.io dolphin dovecot-imapd emacs evince exim4 ffmpeg firefox-esr freecad gdb gimp git
    gnome-core gnuplot gnuradio grass haproxy inkscape jupyter-notebook kdenlive kicad latexmk libreoffice
    lilypond mariadb-server maxima mc mpv mutt neovim nginx nodejs octave openjdk-17-jdk openssh-server
    paraview perl php php-mysql postfix postgresql python3-matplotlib python3-pandas python3-scipy qgis
    qtcreator r-base r-cran-tidyverse rails redis rsync rustc sagemath samba scribus squid stellarium
    subversion supertuxkart texlive-latex-extra thunderbird tmux transmission valgrind vim vlc wesnoth
    wine wireshark xfce4 xscreensaver zsh
""".split()


def read_index(path):
    """The fields of each package of a Packages file, by name; the last stanza of a name counts."""
    opener = lzma.open if path.endswith(".xz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        stanzas = file.read().split("\n\n")
    packages = {}
    for stanza in stanzas:
        fields = dict(line.split(":", 1) for line in stanza.splitlines() if re.match(r"[A-Za-z-]+:", line))
        if "Package" in fields:
            packages[fields["Package"].strip()] = fields
    return packages


def names_in(field):
    """The package names of a dependency field, the first of each group of alternatives."""
    groups = (group.split("|")[0] for group in field.split(",") if group.strip())
    return [re.match(r"\s*([^\s(:\[<]+)", group).group(1) for group in groups]


def dependencies(packages):
    """For each package the set of those it depends on."""
    providers = {}
    for name in sorted(packages):
        for provided in names_in(packages[name].get("Provides", "")):
            providers.setdefault(provided, name)
    needs = {}
    for name, fields in packages.items():
        wanted = names_in(fields.get("Pre-Depends", "")) + names_in(fields.get("Depends", ""))
        real = (want if want in packages else providers.get(want) for want in wanted)
        needs[name] = {want for want in real if want and want != name}
    return needs


def closure(needs, chosen):
    """The chosen packages and all that they need, sorted by name."""
    missing = [name for name in chosen if name not in needs]
    if missing:
        sys.exit(f"not in the index: {' '.join(missing)}")
    reached, todo = set(chosen), list(chosen)
    while todo:
        new = needs[todo.pop()] - reached
        reached |= new
        todo += new
    return sorted(reached)


def main(index, folder):
    needs = dependencies(read_index(index))
    names = closure(needs, CHOSEN)
    number = {name: i for i, name in enumerate(names, start=1)}
    edges = [(number[a], number[b]) for a in names for b in sorted(needs[a])]
    head = f"""%%MatrixMarket matrix coordinate pattern general
% Who depends on whom among {len(names)} packages of Debian 12 (bookworm, main, amd64):
% {len(CHOSEN)} well-known programs and all that they need. Entry (a, b): package a depends on package b.
% Line i of debian-packages.names is the name of package i.
% Made by derive_debian_packages.py, which says how, from Debian's package index.
{len(names)} {len(names)} {len(edges)}
"""
    (folder / "debian-packages.mtx").write_text(head + "".join(f"{a} {b}\n" for a, b in edges))
    (folder / "debian-packages.names").write_text("".join(f"{name}\n" for name in names))
    print(f"{len(names)} packages, {len(edges)} dependencies")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(__file__).parent)
