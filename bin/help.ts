/** What `kite --help` and `kite help all` print: the first ten minutes on one screen, and every command. */
import { paragraphs, wrap } from "./view/text.ts";

/** What help says of each command. */
type Commands = Readonly<Record<string, { readonly description: string; readonly hidden?: true }>>;

/** The commands that people use every day. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  Start: ["install", "uninstall", "up", "down", "demo"],
  Look: ["status", "watch", "explain", "whose", "log"],
  Act: ["off", "on", "lock", "freeze", "thaw", "rename"],
  Plan: ["task", "message"],
  Agents: ["spawn", "agents", "merge"],
  Trouble: ["doctor"],
};

const firstMinutes: readonly (readonly [string, string])[] = [
  ["kite install", "connect Claude Code to Kite"],
  ["kite status", "see who is at work, who holds and who waits for what"],
  ["kite explain FILE", "see who has a file, and why an edit waits"],
  ["kite off --for 1h", "let every edit through for an hour"],
  ["kite demo", "watch four simulated sessions share two files"],
];

/** Columns of the longest entry of `firstMinutes`, and of a command in `kite help all`, with the gap behind it. */
const entryColumns = 20;
const nameColumns = 14;

/** Returns the help that the words ask for: every command for `help all`, else one screen of 80 columns and 24 rows. */
export function helpOf(words: readonly string[], commands: Commands, columns: number): string {
  const lines = words[1] === "all" ? wholeHelp(commands, columns) : shortHelp();
  return `${lines.join("\n")}\n`;
}

function shortHelp(): readonly string[] {
  return [
    "Kite coordinates the Claude Code sessions of this machine.",
    "Usage: kite COMMAND [ARGUMENTS]",
    "",
    "Your first ten minutes:",
    ...firstMinutes.map(([command, says]) => `  ${command.padEnd(entryColumns)}${says}`),
    "",
    "Commands:",
    ...Object.entries(groups).map(([title, names]) => `  ${title.padEnd(10)}${names.join("  ")}`),
    "",
    "  kite help COMMAND   what one command does, with its options and an example",
    "  kite help all       every command",
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
  return [
    ...paragraphs("kite COMMAND --help shows the options of a command, and an example.", columns),
    ...sections,
  ];
}

function row(name: string, description: string, columns: number): readonly string[] {
  const [first = "", ...more] = wrap(description, Math.max(20, columns - nameColumns - 2));
  const margin = " ".repeat(nameColumns + 2);
  return [`  ${name.padEnd(nameColumns)}${first}`, ...more.map(line => margin + line)];
}
