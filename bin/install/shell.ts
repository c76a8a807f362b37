/** The steps of an install that give a person's shell the command `kite`, and its completion. */

import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import {
  InstallFailed,
  linkTarget,
  readText,
  removeText,
  replaceText,
  retried,
} from "../../hooks/install/file.ts";
import { removeIfEmpty } from "../../hooks/install/program.ts";
import { readRecords, writeRecords } from "../../hooks/install/records.ts";
import { limits } from "../../protocol/limits.ts";
import type { KitePaths } from "../../protocol/paths.ts";
import { isObject } from "../../protocol/wire.ts";
import type { Shell } from "../commands/completion.ts";
import type { ProcessContext } from "../context/process-context.ts";
import { foldersOf } from "../context/programs.ts";
import { isThere, own, versionOf } from "../doctor/path.ts";
import { version } from "../version.ts";
import { clean } from "../view/text.ts";

// What `kite install` gave the person's shell, and how `kite uninstall` takes it back.

/** `link`: a link to `text`. `lines`: `text` was added to a file, which Kite made if `madeFile`. */
interface ShellPart {
  readonly kind: "link" | "lines";
  readonly file: string;
  readonly text: string;
  readonly madeFile: boolean;
}

/** Throws InstallFailed if the record cannot be read. */
function shellParts({ shell }: KitePaths): readonly ShellPart[] {
  return readRecords(shell, "parts", isPart);
}

/** Comes before the part itself: after a crash in between, an uninstall finds a part that is not there. */
function recordPart(paths: KitePaths, part: ShellPart): void {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  const others = shellParts(paths).filter(({ kind, file }) => kind !== part.kind || file !== part.file);
  writeRecords(paths.shell, "parts", [...others, part]);
}

/** A part that was taken back, or why it was not. */
export interface PartTaken {
  readonly file: string;
  readonly result: "removed" | "edited" | "changed";
}

/** Takes back all parts that are still as Kite wrote them, and forgets the others. */
export function takeShellParts(paths: KitePaths): readonly PartTaken[] {
  const taken = shellParts(paths).flatMap(part => (part.kind === "link" ? takeLink(part) : takeLines(part)));
  rmSync(paths.shell, { force: true });
  return taken;
}

function takeLink({ file, text }: ShellPart): PartTaken[] {
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there === undefined) return [];
  if (!there.isSymbolicLink() || readlinkSync(file) !== text) return [{ file, result: "changed" }];
  rmSync(file);
  return [{ file, result: "removed" }];
}

function takeLines({ file, text, madeFile }: ShellPart): PartTaken[] {
  return retried(file, () => {
    const old = readText(file, limits.settingsBytes);
    if (old === null) return [];
    const at = old.indexOf(text);
    if (at === -1) return [{ file, result: "changed" }];
    const next = old.slice(0, at) + old.slice(at + text.length);
    if (next !== "" || !madeFile)
      return replaceText(file, next, 0o644, old) ? [{ file, result: "edited" }] : null;
    if (!removeText(file, old)) return null;
    removeIfEmpty(dirname(file));
    return [{ file, result: "removed" }];
  });
}

function isPart(value: unknown): value is ShellPart {
  return (
    isObject(value) &&
    (value["kind"] === "link" || value["kind"] === "lines") &&
    typeof value["file"] === "string" &&
    typeof value["text"] === "string" &&
    typeof value["madeFile"] === "boolean"
  );
}

/** Refuses to go on where somebody else's file would be overwritten. */
function refuseTaken(file: string): void {
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new InstallFailed(`${file} is there meanwhile; Kite did not change it`);
}

// The form of a step of `kite install`.

/** A part of an install: `there` already, `impossible` here, or `open`: it would write something. */
export type Step =
  | { readonly what: string; readonly is: "there" | "impossible"; readonly says: string }
  | {
      readonly what: string;
      readonly is: "open";
      /** What it would write, and where; fit for a terminal. */
      readonly writes: readonly string[];
      /** It only renews what is there: nobody is asked. */
      readonly isThere?: boolean;
      /** It needs a person's own yes, as nothing here shows that it is wanted. */
      readonly isUnsure?: string;
      /** Returns what to say of it. Throws LocalError if it failed. */
      work(): Promise<readonly string[]>;
    };

/** A link to this `kite` in a folder of PATH. Overwrites nothing but a link of Kite's own. */
export function commandStep({ env, paths }: ProcessContext): Step {
  const what = "the command kite";
  const folders = foldersOf(env["PATH"]);
  const found = folders.map(folder => join(folder, "kite")).find(isThere);
  const ours = shellParts(paths).filter(({ kind }) => kind === "link");
  const isOurs = ours.some(({ file, text }) => file === found && isLinkTo(file, text));
  if (found !== undefined && !isOurs) {
    if (versionOf(found) === version) return { what, is: "there", says: found };
    return {
      what,
      is: "impossible",
      says: `PATH has another kite in ${found}, which Kite does not touch: kite doctor`,
    };
  }
  if (found !== undefined && isLinkTo(found, own)) return { what, is: "there", says: found };
  const folder = found === undefined ? folderOf(folders, env["HOME"] || homedir()) : dirname(found);
  if (folder === null) {
    const line = `PATH="$PATH:${dirname(own)}"`;
    return {
      what,
      is: "impossible",
      says: `no folder of PATH is yours to write; add this where your shell starts: ${line}`,
    };
  }
  const file = join(folder, "kite");
  return {
    what,
    is: "open",
    writes: [clean(`${file}, a link to ${own}`)],
    work: async () => {
      if (found === undefined) refuseTaken(file);
      recordPart(paths, { kind: "link", file, text: own, madeFile: true });
      // In one step, so that the command is there at any time.
      const fresh = `${file}.${process.pid}.new`;
      rmSync(fresh, { force: true });
      symlinkSync(own, fresh);
      renameSync(fresh, file);
      return [`${file} starts Kite`];
    },
  };
}

function isLinkTo(file: string, target: string): boolean {
  return (
    lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true && readlinkSync(file) === target
  );
}

/** The person's own folder of programs if PATH has it, else the first folder of PATH that is the person's alone. */
function folderOf(folders: readonly string[], home: string): string | null {
  const usual = [join(home, ".local", "bin"), join(home, "bin")].filter(folder => folders.includes(folder));
  return [...usual, ...folders].find(isMine) ?? null;
}

/** Whether the user owns the folder, may write there, and nobody else may. */
function isMine(folder: string): boolean {
  if (folder.split("/").includes("node_modules")) return false;
  try {
    const { uid, mode } = statSync(folder);
    accessSync(folder, constants.W_OK);
    return uid === process.getuid?.() && (mode & 0o022) === 0;
  } catch {
    return false; // Missing, or not for this user.
  }
}

interface Startup {
  readonly file: string;
  readonly lines: string;
}

/** Shells that find completion in a file of its own need no lines in the person's. */
const startups: Readonly<Record<Shell, (home: string, env: ProcessContext["env"]) => Startup>> = {
  bash: home => ({
    file: join(home, ".bashrc"),
    lines:
      "# Completion of kite, by kite install\ncommand -v kite >/dev/null && source <(kite completion bash)\n",
  }),
  zsh: (home, env) => ({
    file: join(env["ZDOTDIR"] || home, ".zshrc"),
    lines:
      "# Completion of kite, by kite install\n(( $+functions[compdef] && $+commands[kite] )) && source <(kite completion zsh)\n",
  }),
  fish: (home, env) => ({
    file: join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "fish", "completions", "kite.fish"),
    lines: "# Completion of kite, by kite install\ncommand -q kite; and kite completion fish | source\n",
  }),
};

/** Completion for the shell that the person has. */
export function completionStep({ env, paths }: ProcessContext): Step {
  const name = basename(env["SHELL"] ?? "");
  const what = name === "" ? "completion" : `completion for ${name}`;
  if (!isShell(name))
    return { what, is: "impossible", says: "Kite completes in bash, zsh and fish; SHELL names none of them" };
  const { file: named, lines } = startups[name](env["HOME"] || homedir(), env);
  const file = linkTarget(named);
  const old = readText(file, limits.settingsBytes);
  if (old?.includes(`kite completion ${name}`) === true) return { what, is: "there", says: file };
  return {
    what,
    is: "open",
    writes: [
      `${clean(file)}, ${old === null ? "a new file" : "at its end"}:`,
      ...lines
        .trimEnd()
        .split("\n")
        .map(line => `  ${line}`),
    ],
    work: async () => {
      mkdirSync(dirname(file), { recursive: true });
      retried(file, () => {
        const now = readText(file, limits.settingsBytes);
        const text = now === null || now === "" || now.endsWith("\n") ? lines : `\n${lines}`;
        recordPart(paths, { kind: "lines", file, text, madeFile: now === null });
        return replaceText(file, (now ?? "") + text, 0o644, now) ? true : null;
      });
      if (!readText(file, limits.settingsBytes)?.includes(lines))
        throw new InstallFailed(`${file} was changed meanwhile`);
      return [`${file} has it, for new shells`];
    },
  };
}

function isShell(name: string): name is Shell {
  return Object.hasOwn(startups, name);
}
