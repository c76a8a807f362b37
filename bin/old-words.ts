/**
 * Words that people type for a command of another name: its earlier word, or the word that other programs use. Each stands for
 * the words of the command; what follows them stays. Help, the manual page and completion do not show them.
 */
const oldWords: ReadonlyMap<string, readonly string[]> = new Map([
  // Commands that are part of another one now.
  ["attach", ["agents", "attach"]],
  ["broadcast", ["message", "send", "--all"]],
  ["locks", ["status", "--locks"]],
  ["replace", ["agents", "replace"]],
  ["sessions", ["status", "--sessions"]],
  ["stop", ["agents", "stop"]],
  ["trust", ["check", "--trust"]],
  // Earlier names.
  ["hold", ["freeze"]],
  ["resume", ["thaw"]],
  // What one types first.
  ["claim", ["task", "claim"]],
  ["inbox", ["message", "inbox"]],
  ["init", ["install"]],
  ["ls", ["status"]],
  ["ps", ["status", "--sessions"]],
  ["recover", ["rescue"]],
  ["restore", ["rescue", "restore"]],
  ["revert", ["undo"]],
  ["setup", ["install"]],
  ["start", ["up"]],
  ["version", ["--version"]],
  ["who", ["status", "--sessions"]],
  ["-v", ["--version"]],
]);

/** What a command that has only subcommands does without one. */
const lists: ReadonlyMap<string, string> = new Map([
  ["context", "list"],
  ["debate", "list"],
  ["message", "inbox"],
  ["task", "list"],
]);

/** Returns the words behind `kite` with an old word replaced by those that it stands for; `help` may be in front of it. */
export function withPresentWords(words: readonly string[]): readonly string[] {
  const at = words[0] === "help" ? 1 : 0;
  const present = oldWords.get(words[at] ?? "");
  return present === undefined ? words : [...words.slice(0, at), ...present, ...words.slice(at + 1)];
}

/** Returns the words behind `kite`; a command that has only subcommands lists if none is named, and `lock` alone lists the locks. */
export function listIfAlone(words: readonly string[]): readonly string[] {
  const [word = "", next = "-"] = words;
  if (word === "lock" && words.slice(1).every(more => more === "--json"))
    return ["status", "--locks", ...words.slice(1)];
  const list = lists.get(word);
  const isAlone = next.startsWith("-") && next !== "--help" && next !== "-h";
  return list !== undefined && isAlone ? [word, list, ...words.slice(1)] : words;
}

/** Every old word with those that it stands for. */
export function allOldWords(): ReadonlyMap<string, readonly string[]> {
  return oldWords;
}
