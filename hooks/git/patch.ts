/** Which files a patch concerns: by its text, or by the call of git that writes it. */
import type { Value } from "../shell/variables.ts";
import { type Arguments, has, readArguments } from "./options.ts";
import { onlyOrAll, type Patch } from "./reach.ts";

/** The patch that a call of git writes; null: none, or one that may concern any file. */
export function patchBy(name: string, args: readonly Value[]): Patch | null {
  const isDiff = /^diff(?:-files|-index)?$/.test(name);
  if (!isDiff && name !== "show") return null;
  const given = readArguments(args, { short: "SGOlUn", attached: "BMC" });
  const isReversed = has(given, "-R");
  const paths = onlyOrAll(given.after ?? []);
  if (!isDiff) return { ...paths, ...between("commits", shown(given)), isReversed };
  if (has(given, "--no-index")) return null;
  // A word with the ending of a file name is not a branch.
  const isNamed =
    given.after === null && given.words.some(({ text }) => /^(?!.*\.\.).*\.[a-z]\w*$/i.test(text));
  if (isNamed) return { ...onlyOrAll(given.words), isReversed };
  return { ...paths, ...betweenEnds(given), isReversed };
}

/**
 * Whether applying the patch takes something back that may be uncommitted: applied backwards any may, or what it shows
 * is reversed already. Forwards a patch between commits is an edit.
 */
export function takesBack({ isReversed, changes }: Patch, isBack: boolean): boolean {
  return isReversed !== isBack && (isBack || changes === undefined);
}

/** Null: a word is not a revision, or only the shell knows it. */
function shown({ words }: Arguments): readonly string[] | null {
  if (words.length === 0) return ["HEAD"];
  return words.every(({ text, known }) => known && !text.includes(":"))
    ? words.map(({ text }) => text)
    : null;
}

/** The commits of a diff between commits; nothing if it is one of the working tree, or if only the shell knows. */
function betweenEnds({ words, after }: Arguments): Pick<Patch, "changes"> {
  const texts = words.flatMap(({ text, known }) => (known && !text.includes(":") ? [text] : []));
  const [first = "", second = ""] = texts;
  if (texts.length !== words.length || texts.length === 0 || texts.length > 2) return {};
  const [, from, to] = /^(.*[^.])\.\.([^.].*)$/.exec(first) ?? [];
  // What differs was changed on one side or on the other.
  if (second === "") return from === undefined ? {} : between("commits", [`${from}...${to}`]);
  const isSure = after !== null || texts.every(text => /^(?:HEAD|@)|[~^]|^[\da-f]{7,64}$/.test(text));
  return isSure ? between("commits", [`${first}...${second}`]) : between("target", texts);
}

function between(by: "commits" | "target", revisions: readonly string[] | null): Pick<Patch, "changes"> {
  if (revisions === null) return {};
  // A word that is no revision may be a path.
  const orPath = by === "target";
  return { changes: { by, revisions, orPath, loses: "nothing", isForced: true, during: [], stashes: [] } };
}

/** Files that lose lines, without the first `strip` folders of their names; null: any file may. */
export function losingFiles(text: string, strip: number): readonly string[] | null {
  const found = new Set<string>();
  let file: string | null = null;
  for (const line of text.split("\n")) {
    const [, named] = /^(?:--- |rename from )(.*)$/.exec(line) ?? [];
    if (named !== undefined) {
      // A quoted name has escapes of its own.
      if (named.startsWith('"')) return null;
      file = named.replace(/\t.*$/, "");
      const isWhole = line.startsWith("rename");
      if (isWhole) found.add(file);
      else file = file.split("/").slice(strip).join("/");
    } else if (line.startsWith("-") && file !== null) found.add(file);
  }
  return [...found];
}
