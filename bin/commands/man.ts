/** `kite man` makes the manual page from the help of every command. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { searchPath } from "../../protocol/paths.ts";
import type { ProcessContext, Run } from "../context/process-context.ts";
import type { Commands, Entry } from "../entry.ts";
import { fitHelp } from "../help.ts";
import { chapter, isTopic, type Topic, topics } from "../man/chapters.ts";
import { addCommand } from "../parser.ts";
import { version } from "../version.ts";

// The manual page, made from the help of every command.

/** Returns the page in the language of man(7). */
export async function manualPage(commands: Commands, version: string): Promise<string> {
  const parts: string[] = [];
  for (const [name, entry] of Object.entries(commands)) {
    if (entry.hidden === true) continue;
    for (const text of await helpTexts(name, entry, commands)) parts.push(text);
  }
  const list = Object.entries(commands).filter(([, { hidden }]) => hidden !== true);
  return [
    `.TH KITE 1 "" "Kite ${escaped(version)}" "User Commands"`,
    ".SH NAME",
    "kite \\- coordinates the coding agents of one machine",
    ".SH SYNOPSIS",
    ".B kite",
    ".I command",
    "[\\fIoptions\\fR] [\\fIarguments\\fR]",
    ".SH DESCRIPTION",
    "A session that edits a file holds its lock until it has answered; another session's edit of that file waits.",
    "Sessions share tasks, notes and messages. These are the commands; each one has",
    ".BR \\-\\-help .",
    ...list.flatMap(([name, { description }]) => [".TP", `.B ${escaped(name)}`, escaped(description)]),
    ".SH COMMANDS",
    ...parts,
    ...Object.keys(topics).filter(isTopic).flatMap(chapterOf),
    ".SH FILES",
    ".TP",
    ".I ~/.kite",
    "Everything that Kite keeps; KITE_HOME names another folder.",
    ".TP",
    ".I ~/.kite/config.json",
    "Your settings; kite config shows them.",
    "",
  ].join("\n");
}

function chapterOf(topic: Topic): readonly string[] {
  const [title = "", ...lines] = chapter(topic, columns);
  return [`.SH ${escaped(title)}`, ".nf", ...lines.map(escaped), ".fi"];
}

/** Returns a section for the command, and one for each of its subcommands. */
async function helpTexts(name: string, entry: Entry, commands: Commands): Promise<readonly string[]> {
  let help = "";
  const program = new Command("kite").configureOutput({
    writeOut: text => {
      help += text;
    },
    getOutHelpWidth: () => columns,
  });
  // Only the definition is read; nothing runs.
  await addCommand(program, name, entry, async () => {}, commands);
  const sections: string[] = [];
  const describe = (command: Command, path: string) => {
    help = "";
    command.outputHelp();
    sections.push(
      `.SS ${escaped(path)}\n.nf\n${fitHelp(help.trimEnd(), columns).split("\n").map(escaped).join("\n")}\n.fi`,
    );
    for (const below of command.commands) describe(below, `${path} ${below.name()}`);
  };
  for (const command of program.commands) if (command.name() === name) describe(command, `kite ${name}`);
  return sections;
}

/** A manual page is read on 80 columns, of which man takes some for margins. */
const columns = 72;

/** Returns a line as plain text of the page: a hyphen stays one, no first letter makes a request, all is ASCII. */
function escaped(line: string): string {
  const text = line
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(
      /[^ -~]/gu,
      one => `\\[u${(one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    );
  return /^[.']/.test(text) ? `\\&${text}` : text;
}

const help = `
On a terminal it opens the page with man; in a pipe it prints the page's source. The page is made from the help of every
command. The package contains it, so after npm install -g also "man kite" works.

Examples:
  $ kite man
  $ kite man > kite.1`;

export function add(command: Command, run: Run, all: Commands): void {
  command.addHelpText("after", help).action(() =>
    run(async world => {
      const page = await manualPage(all, version);
      const code = world.stdout.isTTY === true ? open(world, page) : null;
      if (code === null) world.stdout.write(page);
      return code ?? 0;
    }),
  );
}

/** Shows the page with man on this terminal. Returns man's exit code; null if there is no man. */
function open({ env }: ProcessContext, page: string): number | null {
  const folder = mkdtempSync(join(tmpdir(), "kite-man-"));
  try {
    const file = join(folder, "kite.1");
    writeFileSync(file, page);
    const path = { ...env, PATH: searchPath(env["PATH"]) };
    const { status, error } = spawnSync("man", [file], { stdio: "inherit", env: path });
    return error === undefined ? (status ?? 1) : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
