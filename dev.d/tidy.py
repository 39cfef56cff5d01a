#!/usr/bin/env python3
"""clang-tidy on many files at once: tidy.py DATABASE_FOLDER JOBS FILE...

A file that was clean is not looked at again until something in it changes: its preprocessed text with
comments, how it is compiled, the rules, or clang-tidy itself. What was clean is remembered below
DATABASE_FOLDER/clean, by hash.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys

KEPT_DAYS = 30


def compile_arguments(entry):
    """The flags of a compile command, without what it reads and writes."""
    arguments = shlex.split(entry["command"])[1:]
    kept = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument == "-o":
            skip = True
        elif argument not in ("-c", entry["file"]):
            kept.append(argument)
    return kept


def preprocessed(entry):
    command = ["clang++", "-E", "-C", "-w", *compile_arguments(entry), entry["file"]]
    if entry["file"].endswith(".c"):
        command[0] = "clang"
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def check(database, entry, rules):
    """Its report; empty when the file is clean."""
    text = preprocessed(entry)
    mark = None
    if text is not None:
        mark = database / "clean" / hashlib.sha256(rules + entry["command"].encode() + b"\0" + text).hexdigest()
        if mark.exists():
            mark.touch()
            return ""
    done = subprocess.run(
        ["clang-tidy", "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", str(database), entry["file"]],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    # "N warnings generated" is about what other people's headers do.
    chatter = re.sub(r"^\d+ warnings? generated\.$\n?", "", done.stderr, flags=re.MULTILINE)
    if done.returncode == 0:
        if mark:
            mark.touch()
        return ""
    return done.stdout + chatter or f"{entry['file']}: clang-tidy failed with status {done.returncode}\n"


def forget_old(folder):
    files = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)
    newest = files[-1].stat().st_mtime if files else 0
    for file in files:
        if file.stat().st_mtime < newest - KEPT_DAYS * 86400:
            file.unlink()


def main():
    database = pathlib.Path(sys.argv[1])
    jobs = int(sys.argv[2])
    wanted = set(sys.argv[3:])
    (database / "clean").mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).parent.parent
    rules = source.joinpath(".clang-tidy").read_bytes()
    rules += subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    rules_of_tests = rules + source.joinpath("tests", ".clang-tidy").read_bytes()
    entries = {}
    for entry in json.loads((database / "compile_commands.json").read_text()):
        if entry["file"] in wanted:
            entries.setdefault(entry["file"], entry)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tests = str(source / "tests") + "/"
        for report in pool.map(
            lambda entry: check(database, entry, rules_of_tests if entry["file"].startswith(tests) else rules),
            entries.values(),
        ):
            if report:
                failed += 1
                print(report, end="", flush=True)
    forget_old(database / "clean")
    if failed:
        print(f"clang-tidy: {failed} of {len(entries)} files are not clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
