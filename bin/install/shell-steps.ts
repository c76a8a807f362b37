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
import { InstallFailed, linkTarget, readText, replaceText, retried } from "../../hooks/install/file.ts";
import { limits } from "../../protocol/limits.ts";
import type { Shell } from "../completion/scripts.ts";
import { foldersOf, isThere, own, versionOf } from "../doctor/path.ts";
import type { ProcessContext } from "../process-context.ts";
import { version } from "../version.ts";
import { clean } from "../view/text.ts";
import { recordPart, refuseTaken, shellParts } from "./shell-record.ts";
import type { Step } from "./step.ts";

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
