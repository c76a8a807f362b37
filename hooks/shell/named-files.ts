/**
 * The files that plain commands of a line name, and what the commands do to these. The commands: `rm`, `truncate`,
 * `cp`, `mv`, `tee`, changes in place, patches, formatters, installers, redirections. A word that only the shell knows names no
 * file, nor does a folder that a formatter walks.
 */

import { limits } from "../../protocol/limits.ts";
import type { EditedPath, NamedPath, WipedPath } from "../seam/actions.ts";
import { installing } from "./installers.ts";
import { behindLauncher, programOf } from "./launchers.ts";
import { readShell } from "./parser.ts";
import { walkShell } from "./simple.ts";
import { type Option, readOptions, type Value, type Where } from "./variables.ts";
import { type Invocation, type Written, wholeBudget } from "./walk.ts";

// Reads which files a patch touches: the text of the tool `apply_patch`, with one header line a file. What the patch does
// within a file is not read.

/** A file as the patch names it: absolute, or relative to where the patch is applied. */
export interface PatchedFile {
  readonly path: string;
  /** `add`: a file that is there is overwritten. `move`: the file goes to the name that the next one adds. */
  readonly does: "add" | "change" | "move" | "delete";
}

export interface Patch {
  /** Each file once for each thing that the patch does to it, at most `limits.patchFilesMax`. */
  readonly files: readonly PatchedFile[];
  /** Why the list may lack files, in words; null: it is whole. */
  readonly unread: string | null;
}

const headers: readonly (readonly [begin: string, does: PatchedFile["does"]])[] = [
  ["*** Add File: ", "add"],
  ["*** Update File: ", "change"],
  ["*** Delete File: ", "delete"],
];
const moveTo = "*** Move to: ";
/** Lines of the form that name no file. */
const other = /^\*\*\* (?:End of File$|Environment ID: )/;

/**
 * Reads a patch. Never throws, whatever the text holds. A doubtful line counts as a header: a file too many is locked, and
 * none is missed. Only in the text of a file may a line look like a header; there it begins with a space, `+` or `-`.
 */
export function readPatch(text: string): Patch {
  const begin = /^[ \t]*\*\*\* Begin Patch[ \t\r]*$/m.exec(text);
  if (begin === null) return { files: [], unread: "the patch has no first line that Kite knows" };
  const files: PatchedFile[] = [];
  let unread: string | null = null;
  let last: PatchedFile["does"] | null = null;
  for (const raw of linesFrom(text, begin.index + begin[0].length + 1)) {
    // Within the lines of a change a space begins an unchanged line.
    const line = last === "change" ? raw.trimEnd() : raw.trim();
    if (!line.startsWith("***")) continue;
    if (/^\*\*\* End Patch$/.test(line)) return { files, unread };
    const named = fileIn(line, files.at(-1) ?? null);
    if (named === null) {
      if (!other.test(line)) unread ??= "the patch has a header that Kite does not know";
      continue;
    }
    if (!isPath(named.path)) {
      unread ??= "the patch names a file by no usable path";
      continue;
    }
    if (files.length >= limits.patchFilesMax) {
      unread = `the patch names more than ${limits.patchFilesMax} files`;
      return { files, unread };
    }
    const { isMoved, ...file } = named;
    const from = files.at(-1);
    if (isMoved && from !== undefined) files[files.length - 1] = { path: from.path, does: "move" };
    files.push(file);
    last = isMoved ? "change" : file.does;
  }
  return { files, unread: unread ?? "the patch has no last line" };
}

/** Null: the line is no header of a file. */
function fileIn(
  line: string,
  before: PatchedFile | null,
): (PatchedFile & { readonly isMoved: boolean }) | null {
  for (const [begin, does] of headers)
    if (line.startsWith(begin)) return { path: line.slice(begin.length), does, isMoved: false };
  if (before?.does !== "change" || !line.startsWith(moveTo)) return null;
  return { path: line.slice(moveTo.length), does: "add", isMoved: true };
}

function isPath(path: string): boolean {
  return path !== "" && path.length <= limits.pathBytes && !path.includes("\0");
}

function* linesFrom(text: string, from: number): Generator<string, void> {
  for (let at = from; at < text.length; ) {
    const end = text.indexOf("\n", at);
    const stop = end === -1 ? text.length : end;
    yield text.slice(at, stop);
    at = stop + 1;
  }
}

// Programs that format or mend the files that their words name.

interface Formatter {
  /** The first words that write; without the row any does. */
  readonly verbs?: RegExp;
  /** It writes only with one of these options. */
  readonly writes?: RegExp;
  /** With one of these options it writes nothing. */
  readonly shows?: RegExp;
  /** Options whose value may be the next word. */
  readonly valued?: readonly string[];
  readonly short?: string;
}

const formatters: ReadonlyMap<string, Formatter> = new Map<string, Formatter>([
  [
    "prettier",
    {
      writes: /^(?:-w|--write)$/,
      valued: [
        "--config",
        "--ignore-path",
        "--parser",
        "--plugin",
        "--log-level",
        "--tab-width",
        "--print-width",
      ],
    },
  ],
  [
    "biome",
    {
      verbs: /^(?:check|format|lint)$/,
      writes: /^--(?:write|fix|apply|apply-unsafe)$/,
      valued: ["--config-path", "--max-diagnostics", "--colors", "--log-level", "--only", "--skip"],
    },
  ],
  [
    "eslint",
    { writes: /^--fix$/, short: "cfo", valued: ["--config", "--ext", "--rule", "--format", "--ignore-path"] },
  ],
  ["stylelint", { writes: /^--fix$/, valued: ["--config"] }],
  ["ruff", { verbs: /^format$/, shows: /^--(?:check|diff)$/, valued: ["--config"] }],
  ["black", { shows: /^--(?:check|diff)$/, short: "lCt", valued: ["--line-length", "--config"] }],
  ["gofmt", { writes: /^-w$/, short: "r" }],
  ["rustfmt", { shows: /^--check$/, valued: ["--edition", "--config-path", "--config"] }],
  ["clang-format", { writes: /^-i$/, valued: ["--style"] }],
]);

/** Names of the formatter with the words of a call, and the files that it names; null: another program, or it writes nothing. */
function formatted(
  program: string,
  args: readonly Value[],
): { readonly name: string; readonly files: readonly string[] } | null {
  const known = formatters.get(program);
  if (known === undefined) {
    // `yarn prettier` runs it like `yarn exec prettier`.
    const inner = behindLauncher(program, args) ?? (/^(?:yarn|pnpm)$/.test(program) ? args : null);
    const name = inner === null ? null : programOf(inner);
    return inner === null || name === null || !formatters.has(name) ? null : formatted(name, inner.slice(1));
  }
  const { verbs, writes, shows, valued = [], short = "" } = known;
  const options: string[] = [];
  const words: string[] = [];
  for (let left = args; left.length > 0; ) {
    const { options: more, rest } = readOptions(left, { short, long: valued });
    options.push(...more.map(({ name }) => name));
    const [word] = rest;
    if (word !== undefined) words.push(word.known ? word.text : "");
    left = rest.slice(1);
  }
  if (verbs !== undefined && !verbs.test(words.shift() ?? "")) return null;
  if (writes !== undefined && !options.some(option => writes.test(option))) return null;
  if (options.some(option => shows?.test(option))) return null;
  return { name: program, files: words.filter(word => word !== "") };
}

/** Paths as a command's words name them. */
interface Named {
  readonly wiped?: readonly Omit<WipedPath, "name">[];
  readonly edited?: readonly Omit<EditedPath, "name">[];
  readonly rewritten?: readonly string[];
  /** Why files may be missing; null: none are. */
  readonly unread?: string | null;
  /** The command in short form, if that is more than the program's name. */
  readonly name?: string;
}

type Rule = (args: readonly Value[]) => Named;

/**
 * Reads a line that begins in `dir`; `env` are the known variables of its shell. Returns the first
 * `limits.namedFilesMax` paths. Never throws, whatever the line holds.
 */
export function namedFiles(line: string, dir: string, env: ReadonlyMap<string, string>): Readonly<Found> {
  const found: Found = { wiped: [], edited: [], rewritten: [], unread: null };
  const { node } = readShell(line);
  const run = (invocation: Invocation) => {
    const program = programOf(invocation.values);
    if (program === null || invocation.isGuess) return;
    const args = invocation.values.slice(1);
    const named = program === "apply_patch" ? patched(invocation) : rules.get(program)?.(args);
    take(found, invocation, program, named ?? installs(program, args) ?? formats(program, args));
  };
  walkShell(node, dir, run, null, wholeBudget(), env, written =>
    take(found, written, ...redirected(written)),
  );
  return found;
}

function redirected({ file: { known, text }, empties }: Written): [program: string, named: Named] {
  if (!known) return [">", {}];
  return empties ? [">", { rewritten: [text] }] : [">>", { edited: [edit(text)] }];
}

interface Found {
  /** Why a patch of the line could not be read as a whole, for the trail; null: it was, or there is none. */
  unread: string | null;
  readonly wiped: WipedPath[];
  readonly edited: EditedPath[];
  readonly rewritten: NamedPath[];
}

function take(found: Found, where: Where, program: string, named: Named): void {
  const { wiped = [], edited = [], rewritten = [], name = program } = named;
  found.unread ??= named.unread ?? null;
  const left = limits.namedFilesMax - found.wiped.length - found.edited.length - found.rewritten.length;
  for (const one of wiped.slice(0, left)) {
    const path = placed(one.path, where);
    const [from, to] = [one.copied?.from, one.copied?.to].map(each => each && placed(each, where));
    if (path === null || from === null || to === null) continue;
    found.wiped.push({ ...one, name, path, ...(from && to ? { copied: { from, to } } : {}) });
  }
  for (const one of edited.slice(0, Math.max(0, left - wiped.length))) {
    const path = placed(one.path, where);
    if (path !== null) found.edited.push({ ...one, name, path });
  }
  for (const one of rewritten.slice(0, Math.max(0, left))) {
    const path = placed(one, where);
    if (path !== null) found.rewritten.push({ name, path });
  }
}

/** The absolute path; null if only the shell knows the folder, or if it is no file (`/dev/null`). */
function placed(path: string, { dir, isBelow }: Where): string | null {
  if (path.startsWith("/")) return /^\/dev\/(?!shm\/)/.test(path) ? null : path;
  return dir === null || isBelow ? null : `${dir}/${path}`;
}

/** A patch that the program gets as a word, or on its standard input. */
function patched({ values: [, word], input }: Invocation): Named {
  const text = word === undefined ? input : word.known ? word.text : null;
  if (text === null) return { unread: "the shell alone knows the patch" };
  const { files, unread } = readPatch(text);
  const of = (does: PatchedFile["does"]) => files.filter(file => file.does === does).map(({ path }) => path);
  return {
    wiped: of("delete").map(path => ({ ...wipe(path), isRemoved: true })),
    edited: [
      ...[...of("change"), ...of("add")].map(edit),
      ...of("move").map(path => ({ path, isMoved: true })),
    ],
    unread,
  };
}

function formats(program: string, args: readonly Value[]): Named {
  const { name, files } = formatted(program, args) ?? { name: program, files: [] };
  // It reads patterns by itself: a pattern names no file.
  return { name, edited: files.filter(file => !isPattern(file)).map(path => ({ path, isMoved: false })) };
}

function installs(program: string, args: readonly Value[]): Named | null {
  const found = installing(program, args);
  if (found === null) return null;
  const edited = found.files.map(path => ({ path, isMoved: false, isNearest: true }) as const);
  return { name: found.name, edited };
}

function isPattern(path: string): boolean {
  return /[*?[]/.test(path);
}

interface Words {
  readonly options: readonly Option[];
  /** The words that are not options, as far as they are known. */
  readonly files: readonly string[];
}

/** The options may stand behind the files, but for `--` between them. */
function wordsOf(args: readonly Value[], short = "", long: readonly string[] = [], attached = ""): Words {
  const end = args.findIndex(({ known, text }) => known && text === "--");
  const options: Option[] = [];
  const files: Value[] = end === -1 ? [] : [...args.slice(end + 1)];
  let left = end === -1 ? args : args.slice(0, end);
  const named: Value[] = [];
  while (left.length > 0) {
    const { options: more, rest } = readOptions(left, { short, long, attached });
    options.push(...more);
    named.push(...rest.slice(0, 1));
    left = rest.slice(1);
  }
  return { options, files: [...named, ...files].flatMap(({ known, text }) => (known ? [text] : [])) };
}

function has({ options }: Words, names: RegExp): boolean {
  return options.some(({ name }) => names.test(name));
}

const wipe = (path: string) => ({ path, isDeep: false, isRemoved: false });
const edit = (path: string) => ({ path, isMoved: false });

const remove: Rule = args => {
  const words = wordsOf(args);
  const isDeep = has(words, /^(?:-r|-R|--recursive)$/);
  const wiped = words.files.map(path => ({ path, isDeep, isRemoved: true }));
  return { wiped, ...(isDeep ? { name: "rm -r" } : {}) };
};

const truncate: Rule = args => ({
  wiped: wordsOf(args, "sr", ["--size", "--reference"]).files.map(wipe),
});

const tee: Rule = args => {
  const words = wordsOf(args);
  return has(words, /^(?:-a|--append)$/)
    ? { name: "tee -a", edited: words.files.map(edit) }
    : { rewritten: words.files };
};

/** These keep a file that is there, or its content in another file. */
const keeps = /^(?:-n|--no-clobber|-b|--backup|--update=none|-i|--interactive)$/;

/** Where a copy goes: onto the target, or into it if it is a folder. */
function targets(words: Words): { readonly sources: readonly string[]; readonly target: string } | null {
  const folder = words.options.findLast(({ name }) => /^(?:-t|--target-directory)$/.test(name))?.value;
  if (folder !== undefined) return folder?.known ? { sources: words.files, target: folder.text } : null;
  const target = words.files.at(-1);
  const sources = words.files.slice(0, -1);
  return target === undefined || sources.length === 0 ? null : { sources, target };
}

const copyWords = (args: readonly Value[]) => wordsOf(args, "tS", ["--target-directory", "--suffix"]);

/** What a copy or a move of the sources overwrites. */
function overwritten(words: Words, isDeep: boolean): readonly Omit<WipedPath, "name">[] {
  const at = targets(words);
  if (at === null || has(words, keeps)) return [];
  const { sources, target } = at;
  // Which source a pattern means is known only if the file is there.
  const onto = sources.length === 1 && !isPattern(sources[0] ?? "") ? [wipe(target)] : [];
  return [
    ...onto,
    ...sources.flatMap(source => {
      const [folder, name] = split(source);
      const path = `${target}/${name}`;
      const copied = isDeep || isPattern(name) ? { copied: { from: folder, to: target } } : {};
      return [{ ...wipe(path), isDeep, ...copied }];
    }),
  ];
}

/** The folder and the name; `src/.` is all of `src`. */
function split(path: string): readonly [folder: string, name: string] {
  const plain = path.replace(/(?<=.)\/+$/, "");
  const at = plain.lastIndexOf("/");
  if (/(?:^|\/)\.\.?$/.test(plain)) return [plain, "."];
  return at === -1 ? [".", plain] : [plain.slice(0, at) || "/", plain.slice(at + 1)];
}

const copy: Rule = args => {
  const words = copyWords(args);
  return { wiped: overwritten(words, has(words, /^(?:-r|-R|-a|--recursive|--archive)$/)) };
};

const move: Rule = args => {
  const words = copyWords(args);
  const sources = targets(words)?.sources ?? [];
  return { wiped: overwritten(words, false), edited: sources.map(path => ({ path, isMoved: true })) };
};

/** The first word is a script unless an option gives one. */
function inPlace(name: string, words: Words, isInPlace: RegExp, gives: RegExp): Named {
  if (!has(words, isInPlace)) return {};
  return { name, edited: (has(words, gives) ? words.files : words.files.slice(1)).map(edit) };
}

const sed: Rule = args =>
  inPlace(
    "sed -i",
    wordsOf(args, "efl", ["--expression", "--file", "--line-length"], "i"),
    /^(?:-i|--in-place)$/,
    /^(?:-e|--expression|-f|--file)$/,
  );

const perl: Rule = args => inPlace("perl -i", wordsOf(args, "eE", [], "i0lFCDxMmI"), /^-i$/, /^-[eE]$/);

const rules: ReadonlyMap<string, Rule> = new Map([
  ["rm", remove],
  ["unlink", remove],
  ["truncate", truncate],
  ["cp", copy],
  ["mv", move],
  ["tee", tee],
  ["sed", sed],
  ["gsed", sed],
  ["perl", perl],
]);
