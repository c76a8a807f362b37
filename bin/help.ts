/** What `kite --help` and `kite help all` print: the first ten minutes on one screen, and every command. */

import { nearest } from "../protocol/text.ts";
import { chapter, topicOf, topics } from "./man/chapters.ts";
import { paragraphs, wrap } from "./view/text.ts";

/** What help says of each command. */
type Commands = Readonly<Record<string, { readonly description: string; readonly hidden?: true }>>;

/** The commands that people use every day. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  Start: ["install", "uninstall", "up", "down", "demo"],
  Look: ["status", "watch", "explain", "whose", "diff", "history", "log", "go"],
  Act: ["off", "on", "lock", "freeze", "thaw", "rename", "rescue"],
  Git: ["commit", "undo", "try", "move"],
  Plan: ["task", "message"],
  Agents: ["spawn", "agents", "merge"],
  Machines: ["store"],
  Trouble: ["doctor"],
};

const firstMinutes: readonly (readonly [string, string])[] = [
  ["kite install", "connect your agents to Kite"],
  ["kite status", "see who is at work, who holds and who waits for what"],
  ["kite explain FILE", "see who has a file, and why an edit waits"],
  ["kite off --for 1h", "let every edit through for an hour"],
  ["kite demo", "watch four simulated sessions share two files"],
];

/** A chapter has lines of so many columns at most, however wide the terminal is. */
const columnsMax = 100;

/** Columns of the longest entry of `firstMinutes`, and of a command in `kite help all`, with the gap behind it. */
const entryColumns = 20;
const nameColumns = 14;

/**
 * Returns the help that the words ask for: one screen of 80 columns and 24 rows, every command for `help all`, or a chapter.
 * Null: they name no chapter.
 */
export function helpOf(words: readonly string[], commands: Commands, columns: number): string | null {
  const lines = linesOf(words[0] === "help" ? words[1] : undefined, commands, columns);
  return lines === null ? null : `${lines.join("\n")}\n`;
}

/** Says that there is no help for the word, and which one was meant if that can be guessed. */
export function unknownTopic(word: string, commands: Commands): string {
  const shown = Object.keys(commands).filter(name => commands[name]?.hidden !== true);
  const near = nearest(word, [...shown, ...Object.keys(topics)]);
  const is = `no command and no chapter is called ${word}`;
  return near === null
    ? `${is}; see kite help all`
    : `${is}; did you mean kite help ${near}? See kite help all`;
}

function linesOf(topic: string | undefined, commands: Commands, columns: number): readonly string[] | null {
  if (topic === undefined) return shortHelp();
  if (topic === "all") return wholeHelp(commands, columns);
  const found = topicOf(topic);
  if (found === null) return null;
  const also = Object.hasOwn(commands, topic) ? ["", `The command of that name: kite ${topic} --help`] : [];
  return [...chapter(found, Math.min(columns, columnsMax)), ...also];
}

function shortHelp(): readonly string[] {
  return [
    "Kite coordinates the coding agents of this machine.",
    "Usage: kite COMMAND [ARGUMENTS]",
    "",
    "Your first ten minutes:",
    ...firstMinutes.map(([command, says]) => `  ${command.padEnd(entryColumns)}${says}`),
    "",
    "Commands:",
    ...Object.entries(groups).map(([title, names]) => `  ${title.padEnd(10)}${names.join("  ")}`),
    "",
    "  kite help COMMAND   what one command does, with its options and an example",
    "  kite help all       every command, and the chapters: kite help TOPIC",
    "  kite --version      the version of this program",
  ];
}

function wholeHelp(commands: Commands, columns: number): readonly string[] {
  const daily = new Set(Object.values(groups).flat());
  const isShown = (name: string) => commands[name]?.hidden !== true;
  const others = Object.keys(commands).filter(name => !daily.has(name) && isShown(name));
  const sections = Object.entries({ ...groups, "Further commands": others }).flatMap(([title, names]) => [
    "",
    `${title}:`,
    ...names.flatMap(name => row(name, commands[name]?.description ?? "", columns)),
  ]);
  const chapters = Object.entries(topics).flatMap(([name, says]) => row(name, says, columns));
  return [
    ...paragraphs("kite COMMAND --help shows the options of a command, and an example.", columns),
    ...sections,
    "",
    "Chapters, by kite help TOPIC:",
    ...chapters,
  ];
}

function row(name: string, description: string, columns: number): readonly string[] {
  const [first = "", ...more] = wrap(description, Math.max(20, columns - nameColumns - 2));
  const margin = " ".repeat(nameColumns + 2);
  return [`  ${name.padEnd(nameColumns)}${first}`, ...more.map(line => margin + line)];
}

/** Lines of help have so many columns at most, however wide the terminal is. */
const widest = 120;
/** A line shorter than this, in columns, ends its paragraph. */
const full = 90;

/** Fits help to a terminal: wraps paragraphs again, and indents the rest of other lines. */
export function fitHelp(text: string, columns: number): string {
  const width = Math.min(columns, widest);
  const lines: string[] = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const isPlain = /^\S/.test(line);
    if (isOpen && isPlain) lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
    isOpen = isPlain && line.length >= full;
  }
  return lines.flatMap(line => wrapped(line, width)).join("\n");
}

function wrapped(line: string, columns: number): readonly string[] {
  if (line.length <= columns) return [line];
  const indent = line.length - line.trimStart().length;
  const more = indent === 0 ? 0 : 2;
  return wrap(line.trimStart(), columns - indent, more).map(part => " ".repeat(indent) + part);
}
