/** What `kite install` says: what is connected, from when on, what to try next, and how to undo it. */

import type { PlannedFile } from "../../hooks/install/hooks-file.ts";
import { observedText } from "../settings/off-now.ts";
import { clean } from "../view/text.ts";
import type { ChosenProgram } from "./hook-program.ts";

/** Which settings it wrote: of all projects, of one person in a project, or those that a team commits. */
export type InstallScope = "user" | "project" | "shared";

/** Kite's tools in the client's own file: installed, or why not. */
export interface InstalledTools {
  readonly file: string;
  readonly installed: boolean;
  readonly changed: boolean;
  readonly why?: string;
}

export interface InstallDone extends ChosenProgram {
  /** The client's name. */
  readonly name: string;
  readonly file: string;
  readonly changed: boolean;
  readonly backup: string | null;
  readonly events: readonly string[];
  readonly tools: InstalledTools;
  /** The client was told that the person trusts the hooks. */
  readonly isTrusted?: true;
  /** Kite only observes; absent: it acts. */
  readonly mode?: "observe";
}

/** A file that an install would write, and what for. */
export interface FileToWrite extends PlannedFile {
  readonly of: string;
}

const does: Readonly<Record<FileToWrite["does"], string>> = {
  create: "would make",
  change: "would change",
  keep: "would leave as it is",
  write: "would write",
};

/** Every file that an install would write. */
export function planLines(files: readonly FileToWrite[]): string[] {
  return [
    "kite install --print writes nothing. Without --print it would touch these files:",
    ...files.map(file => `  ${clean(`${does[file.does]}: ${file.path} (${file.of})`)}`),
    clean(`the new text of ${files[0]?.path}:`),
  ];
}

/** `isUnignored`: git would add the private settings file to a commit. */
export function installLines(
  done: InstallDone,
  {
    inForce,
    says,
    todo = [],
    undo,
  }: {
    readonly inForce: string;
    readonly says?: readonly string[];
    readonly todo?: readonly string[];
    readonly undo: string;
  },
  isUnignored: boolean,
): string[] {
  const { changed, file, backup, events, tools } = done;
  if (!changed && !tools.changed && tools.why === undefined) {
    return [`already installed: ${file}; nothing changed`, ...modeLines(done)];
  }
  if (says !== undefined) return [`installed: ${file}`, ...says, `in force: ${inForce}`, `undo: ${undo}`];
  return [
    `installed: ${file}`,
    `hooks: ${new Set(events).size} events (--json names them)`,
    programLine(done),
    toolsLine(done),
    ...(backup === null ? [] : [`copy of the old file: ${backup}`]),
    ...(isUnignored
      ? ["git does not ignore this file: keep it out of commits, it is valid only on this machine"]
      : []),
    ...todo,
    `in force: ${inForce}`,
    ...modeLines(done),
    "try next: type a prompt in a session, then run kite status; kite demo shows a conflict of four sessions",
    `undo: ${undo}`,
  ];
}

function modeLines({ mode, tools }: InstallDone): string[] {
  if (mode === undefined) return [];
  const act = tools.installed ? "kite config set mode act" : "kite config set mode act && kite install";
  return [`mode: ${observedText.replace("kite config set mode act", act)}`];
}

function programLine({ hookProgram, whyNotPerl }: ChosenProgram): string {
  const why = whyNotPerl === undefined ? "" : `, about 20 ms slower: perl does not work (${whyNotPerl})`;
  return `hook program: ${hookProgram}${why}`;
}

function toolsLine({ tools: { file, installed, why }, mode }: InstallDone): string {
  if (why !== undefined) return `tools for agents: not installed, ${why}`;
  const option = mode === undefined ? "--no-mcp" : "--observe or --no-mcp";
  return installed ? `tools for agents: ${file}, for new sessions` : `tools for agents: none (${option})`;
}
