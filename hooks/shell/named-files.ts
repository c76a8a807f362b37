/**
 * The files that plain commands of a line name, and what the commands do to these: `rm`, `truncate`, `cp`, `mv`, `tee`,
 * changes in place, patches, formatters, redirections. A word that only the shell knows names no file, nor does a folder that a formatter walks.
 */

import { limits } from "../../protocol/limits.ts";
import type { EditedPath, NamedPath, WipedPath } from "../seam/named-files.ts";
import { type PatchedFile, readPatch } from "./apply-patch.ts";
import { wholeBudget } from "./budget.ts";
import { formatted } from "./formatters.ts";
import { walkShell } from "./line.ts";
import { type Option, readOptions } from "./options.ts";
import { readShell } from "./parser.ts";
import type { Value, Where } from "./variables.ts";
import type { Invocation, Written } from "./walk.ts";
import { programOf } from "./wrappers.ts";

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
    take(found, invocation, program, named ?? formats(program, args));
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
