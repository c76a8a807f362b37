/** Planted bugs quote lines of the program: whether those stand there, and what to do where they do not. */
import type { Planted } from "./planted.ts";

/** Says how to look these bugs up again: one command each, and one for all. */
export function lookUp(bugs: readonly string[]): string {
  const each = bugs.map(bug => `npm run seeds -- -t "${bug}"`).join("\n");
  return `\`npm run seeds\` looks for other seeds and writes them to found-seeds.ts; one bug alone:\n${each}`;
}

/** The file's text with the bug in it. */
export function withBug({ find, put, and }: Planted, text: string): string {
  const once = text.replace(find, () => put);
  if (and === undefined) return once;
  const at = once.lastIndexOf(and.find);
  return once.slice(0, at) + and.put + once.slice(at + and.find.length);
}

/**
 * Says what of a bug does not stand where it should: \`find\` once in its file, and what it changes further somewhere.
 * \`sources\` has the text of each file of the program by its path.
 */
export function* misquoted(
  { bug, file, find, and }: Planted,
  sources: ReadonlyMap<string, string>,
): Generator<string, void> {
  const count = countIn(sources.get(file), find);
  if (count !== 1)
    yield `"${bug}" quotes a text that stands ${count} times in ${file}, not once:\n${find}\n${advice(bug, find, sources)}`;
  else if (and !== undefined && countIn(sources.get(file), and.find) === 0)
    yield `"${bug}" changes a further text that is not in ${file}:\n${and.find}\n${advice(bug, and.find, sources)}`;
}

function advice(bug: string, find: string, sources: ReadonlyMap<string, string>): string {
  const now = [...sources].filter(([, text]) => countIn(text, find) === 1).map(([path]) => path);
  const where = now.length === 0 ? "" : ` It stands once in ${now.join(", ")}.`;
  return `Write into tests/simulation/planted.ts how the program says it now.${where} Then run: npm run seeds -- -t "${bug}"`;
}

function countIn(text: string | undefined, find: string): number {
  return text === undefined ? 0 : text.split(find).length - 1;
}
