# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs the package in a root of Debian, runs the commands of READMEs there by chroot, removes it, and looks for what is left.

usage: debian_root.py SOURCE BUILD RELEASE FOLDER
"""
import os
import pathlib
import shutil
import subprocess
import sys

READMES = ("README.md", "examples/cmake/README.md", "examples/docker/README.md")
# Read by the commands of these pages.
SOURCES = ("README.md", "examples", "test/readme/run_readme.py", "test/python/installed.py")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}


def files_of(root):
    """All paths of a root but those of what is tested, and of what dpkg writes of each of its runs."""
    own = ("tmp", "src", "root", "var/log/dpkg.log")
    found = set()
    for folder, folders, files in os.walk(root):
        inside = pathlib.Path(folder).relative_to(root)
        folders[:] = [name for name in folders if str(inside / name) not in own]
        found.update(str(inside / name) for name in (*folders, *files) if str(inside / name) not in own)
    return found


def main(source, build, release, folder):
    folder.mkdir(parents=True)
    root = folder / "root"
    subprocess.run(["cp", "-a", "--reflink=auto", build / "roots" / release, root], check=True)
    before = files_of(root)

    def run(*command):
        done = subprocess.run(["chroot", root, *command], env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"{release}: {' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout

    subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-B", folder], check=True, stdout=subprocess.DEVNULL)
    package, python = next(folder.glob("attn_*.deb")), next(folder.glob("python3-attn_*.deb"))
    depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, text=True, stdout=subprocess.PIPE).stdout
    packages = {name.split()[0] for name in depends.replace("|", ",").split(",")}
    if not packages <= {"libc6", "libc6-dev", "gcc", "clang", "c-compiler"}:
        sys.exit(f"{release}: the package depends on {depends}")
    print(f"{release}: the package depends on libc and a C compiler")

    for one in (package, python):
        shutil.move(one, root / "tmp" / one.name)
    run("dpkg", "-i", f"/tmp/{package.name}", f"/tmp/{python.name}")
    for name in SOURCES:
        target = root / "src" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", source / name, target], check=True)
    for page in READMES:
        said = run("python3", "/src/test/readme/run_readme.py", f"/src/{page}", "--source", "/src", "--folder", "/tmp/page")
        print(f"{release}: {page}: {said.splitlines()[-1]}")
    said = run("python3", "/src/test/python/installed.py", "/src/examples/story/tokenizer.json")
    print(f"{release}: Python: {'; '.join(said.splitlines())}")
    run("dpkg", "--purge", "python3-attn", "attn")
    left = files_of(root) ^ before
    if left:
        sys.exit(f"{release}: the package leaves {sorted(left)}")
    print(f"{release}: removed without a trace")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4]))
