/**
 * Kite's git hook `pre-commit`: its text, and how it comes into a folder of hooks and out again.
 *
 * Invariants: a hook that is there is kept byte for byte beside it and runs first; its exit code counts. At no moment is there
 * no hook in its place. One that somebody changed since is never touched.
 */
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { limits } from "../../protocol/limits.ts";
import { shellWord } from "../../protocol/text.ts";
import { InstallFailed, readIfAny, writeWhole } from "./file.ts";

/** The exit code by which `kite commit-check` refuses a commit: no other failure of it stops one. */
export const commitRefusedCode = 10;

/** What the hook needs of this machine. */
export interface PreCommitProgram {
  /** Kite's own directory. */
  readonly home: string;
  readonly socket: string;
  readonly node: string;
  readonly kite: string;
}

/** The first lines by which Kite knows its own hook. */
const mark = "#!/bin/sh\n# Written by kite install --client git.";

/** Returns the hook's text, for any POSIX shell. Without a daemon it starts no other program. */
export function preCommitText({ home, socket, node, kite }: PreCommitProgram): string {
  return textWith(shellWord(socket), shellWord(node), shellWord(kite), shellWord(`KITE_HOME=${home}`));
}

/** The same with words of a shell. */
function textWith(socket: string, node: string, kite: string, home: string): string {
  return `${mark} Before a commit it asks Kite
# whether another agent is writing or holds one of its files. kite uninstall --client git takes it out.
before=$0${keptSuffix}
if [ -x "$before" ]; then
  "$before" "$@" || exit $?
fi
[ -S ${socket} ] && [ -x ${node} ] && [ -f ${kite} ] || exit 0
/usr/bin/env -u NODE_OPTIONS -u NODE_EXTRA_CA_CERTS ${home} \\
  ${node} ${kite} commit-check
[ $? -ne ${commitRefusedCode} ]
`;
}

/** The line that asks Kite, for a hook that a team commits: it does nothing for colleagues without Kite. */
export const preCommitLine = `! command -v kite >/dev/null 2>&1 || kite commit-check || [ $? -ne ${commitRefusedCode} ] || exit 1`;

const keptSuffix = ".before-kite";

export function preCommitFile(folder: string): string {
  return join(folder, "pre-commit");
}

/** Returns where the hook lies that was there before. */
export function keptFile(file: string): string {
  return `${file}${keptSuffix}`;
}

/** `kites`: Kite's hook is there; `changed`: one that somebody changed since; `others`: another one. */
type PreCommitState = "kites" | "changed" | "others" | "none";

/** Looks at the file itself, and does not follow a link. */
export function preCommitState(file: string): PreCommitState {
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there === undefined) return "none";
  if (!there.isFile()) return "others";
  const text = textOf(file);
  if (!text.startsWith(mark)) return "others";
  return isWhole(text) ? "kites" : "changed";
}

const words = /^\[ -S (.+) \] && \[ -x (.+) \] && \[ -f (.+) \] \|\| exit 0\n.*? ('KITE_HOME=.*) \\$/m;

/** Whether the text is one that Kite writes, for whatever paths. */
function isWhole(text: string): boolean {
  const [, socket, node, kite, home] = words.exec(text) ?? [];
  if (socket === undefined || node === undefined || kite === undefined || home === undefined) return false;
  return text === textWith(socket, node, kite, home);
}

/** Returns the programs that Kite's hook runs; without them it lets every commit through. None if it is not Kite's. */
export function preCommitPrograms(file: string): readonly string[] {
  const [, , node, kite] = words.exec(textOf(file)) ?? [];
  return [node, kite].flatMap(word => (word === undefined ? [] : [unquoted(word)]));
}

/** Whether a team's own hook has the line that asks Kite. */
export function asksKite(file: string): boolean {
  return textOf(file).includes("kite commit-check");
}

function textOf(file: string): string {
  return readIfAny(file, limits.clientFileBytes)?.toString("utf8") ?? "";
}

/** The opposite of `shellWord`. */
function unquoted(word: string): string {
  return word.slice(1, -1).replaceAll("'\\''", "'");
}

/**
 * Puts the hook there. Returns false if it was there already with this text. Throws InstallFailed if a hook is to be kept and
 * another one is kept already, or if somebody changed Kite's.
 */
export function putPreCommit(file: string, text: string): boolean {
  const state = preCommitState(file);
  if (state === "changed")
    throw new InstallFailed(
      `somebody changed Kite's hook ${file}; Kite did not change it. Remove it, then try again`,
    );
  if (state === "kites" && textOf(file) === text) return false;
  if (state === "others") keep(file);
  // Git makes the folder only where its templates have one.
  mkdirSync(dirname(file), { recursive: true });
  // In one step: a commit meanwhile finds the hook that was there, or this one.
  writeWhole(`${file}${newSuffix}`, text, 0o755);
  chmodSync(`${file}${newSuffix}`, 0o755);
  renameSync(`${file}${newSuffix}`, file);
  return true;
}

const newSuffix = ".kite-new";

/** Gives the hook that is there a second name, under which it stays. */
function keep(file: string): void {
  const kept = keptFile(file);
  if (lstatSync(kept, { throwIfNoEntry: false }) !== undefined)
    throw new InstallFailed(
      `${kept} is there already, so that Kite cannot keep ${file} under that name; move one of them away, then try again`,
    );
  if (lstatSync(file).isSymbolicLink()) symlinkSync(readlinkSync(file), kept);
  else linkSync(file, kept);
}

/**
 * Takes the hook out, and puts the one that was there before back. `nothing_there`: there was none of Kite's. Throws
 * InstallFailed if somebody changed it.
 */
export function takePreCommit(file: string): "restored" | "removed" | "nothing_there" {
  const state = preCommitState(file);
  if (state === "changed")
    throw new InstallFailed(
      `somebody changed Kite's hook ${file}; Kite left it. Take its lines out, or remove it${
        hasKept(file) ? ` and move ${keptFile(file)} back in its place` : ""
      }`,
    );
  if (state !== "kites") return "nothing_there";
  if (!hasKept(file)) {
    rmSync(file);
    return "removed";
  }
  renameSync(keptFile(file), file);
  return "restored";
}

function hasKept(file: string): boolean {
  return lstatSync(keptFile(file), { throwIfNoEntry: false }) !== undefined;
}
