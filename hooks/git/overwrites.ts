/**
 * What a line does to a working tree without git. Redirections, and programs that write what they read, put files over
 * others: git's output over a file wipes what is in it as `git checkout` does. Some empty a folder of dependencies.
 */
import type { GuardedCommand } from "../../protocol/guard.ts";
import { installing } from "../shell/installers.ts";
import { programOf } from "../shell/launchers.ts";
import { asValue, enter, readOptions, type Value, type Where } from "../shell/variables.ts";
import type { Invocation, Written } from "../shell/walk.ts";
import { callBehind, patchIn } from "./command.ts";
import {
  all,
  has,
  type Options,
  type Patch,
  type Paths,
  pathsOf,
  pathsOrAll,
  readArguments,
  reverses,
} from "./options.ts";

/** Files that a program overwrites; `paths` are relative to `where`. */
interface Over extends Paths, Pick<Patch, "changes"> {
  readonly name: string;
  readonly where: Where;
}

type Rule = (invocation: Invocation) => readonly Over[];

type Guarded = GuardedCommand & { readonly unclear: boolean };

/** What the program overwrites. */
export function overwrites(invocation: Invocation): readonly Guarded[] {
  return guarded(rules.get(programOf(invocation.values) ?? "")?.(invocation) ?? []);
}

/** What the redirection overwrites. */
export function overwritten({ file, empties, text, ...where }: Written): readonly Guarded[] {
  return empties ? guarded(into(">", [file], text, where)) : [];
}

function guarded(all: readonly Over[]): readonly Guarded[] {
  return all.map(({ where: { dir, isBelow }, unclear = false, ...over }) => ({
    ...over,
    reach: "tree",
    commits: false,
    untracked: true,
    needsIndex: false,
    dir,
    ...(dir !== null && isBelow ? { isBelow } : {}),
    gitDir: null,
    workTree: null,
    unclear,
  }));
}

/** What the program empties of dependencies and build output. Such a folder may be a link to one that others use. */
export function emptied({ values, dir, isBelow }: Invocation): readonly Guarded[] {
  const program = programOf(values);
  if (program === null || dir === null || isBelow) return [];
  const args = values.slice(1);
  const installer = installing(program, args);
  if (installer?.emptied != null) return [emptying(installer.name, placed(installer.emptied, dir), true)];
  const parsedArgs = readArguments(args, {});
  const isRemoving =
    program === "rm" ? has(parsedArgs, "-r", "-R", "--recursive") : program === "find" && isDeleting(args);
  if (!isRemoving) return [];
  const words = [...parsedArgs.words, ...(parsedArgs.after ?? [])].filter(({ known }) => known);
  return words.flatMap(({ text }) => {
    // Without what stands behind the slash a link itself is removed, and not what it leads to.
    const [, path] = emptiedPath.exec(placed(text, dir)) ?? [];
    return path === undefined ? [] : [emptying(program === "rm" ? "rm -r" : "find -delete", path, false)];
  });
}

const emptiedPath = /^(.*\/(?:node_modules|\.venv|vendor|target))\/+(?:\.|[^/]*[*?][^/]*)?$/;

function isDeleting(args: readonly Value[]): boolean {
  return args.some(({ text }) => text === "-delete");
}

function placed(path: string, dir: string): string {
  return path.startsWith("/") ? path : `${dir}/${path}`;
}

function emptying(name: string, path: string, isNearest: boolean): Guarded {
  return {
    name,
    reach: "place",
    commits: false,
    untracked: false,
    needsIndex: false,
    dir: path.slice(0, path.lastIndexOf("/")) || "/",
    gitDir: null,
    workTree: null,
    paths: [],
    unclear: false,
    empties: isNearest ? { path, isNearest } : { path },
  };
}

const tee: Rule = ({ values, input, ...where }) => {
  const { options, rest } = readOptions(values.slice(1), { short: "" });
  const isAppending = options.some(({ name }) => name === "-a" || name === "--append");
  return isAppending ? [] : into("tee", rest, input, where);
};

const noFile = /^(?:|-|\/dev\/(?:null|zero|full|tty|std(?:in|out|err)|fd\/.*))$/;

/** A file that only the shell knows counts if it seems to be the one that git shows. */
function into(name: string, files: readonly Value[], text: string | null, where: Where): readonly Over[] {
  return files.flatMap((file): readonly Over[] => {
    if (!file.known)
      return shownBy(text).includes(file.whole) ? [{ name, paths: null, unclear: true, where }] : [];
    return noFile.test(file.text) ? [] : [{ name, ...named(file.text, where) }];
  });
}

/** The files that `git show` or `git cat-file` writes into the text, by their names in the commit. */
function shownBy(text: string | null): readonly string[] {
  const call = callBehind(text);
  if (call === null || !/^(?:show|cat-file)$/.test(call.name.text)) return [];
  return call.args.flatMap(({ whole }) => {
    const colon = whole.indexOf(":");
    return colon === -1 ? [] : [whole.slice(colon + 1).replace(/^\.\//, "")];
  });
}

/** A file as seen from its folder: that may lie in another repository than the shell. */
function named(path: string, from: Where): Pick<Over, "paths" | "where"> {
  const at = path.lastIndexOf("/") + 1;
  return { paths: [path.slice(at)], where: at === 0 ? from : enter(from, asValue(path.slice(0, at))) };
}

const unpacking: Options = {
  short: "fCbTXIKNgHVF",
  long: [
    "--file",
    "--directory",
    "--exclude",
    "--transform",
    "--strip-components",
    "--owner",
    "--group",
    "--mode",
  ],
};

/** The archive that git writes. What others hold is not known. */
const tar: Rule = ({ values, input, ...from }) => {
  const call = callBehind(input);
  if (call?.name.text !== "archive") return [];
  const [first, ...rest] = values.slice(1);
  // The old form has its letters without a dash, and their values behind them.
  const isOld = first?.known === true && /^[A-Za-z]+$/.test(first.text);
  const words = isOld ? oldForm(first.text, rest) : values.slice(1);
  const parsedArgs = readArguments(words, unpacking);
  const keeps = has(
    parsedArgs,
    "-k",
    "--keep-old-files",
    "--skip-old-files",
    "-O",
    "--to-stdout",
    "--keep-newer-files",
  );
  if (!has(parsedArgs, "-x", "--extract", "--get") || keeps) return [];
  const folders = parsedArgs.options.filter(({ name }) => name === "-C" || name === "--directory");
  const where = folders.reduce<Where>((at, { value }) => (value === null ? at : enter(at, value)), from);
  const archive = readArguments(call.args, {
    short: "o",
    long: ["--format", "--prefix", "--output", "--remote", "--exec", "--add-file", "--mtime"],
  });
  const [tree, ...packed] = [...archive.words, ...(archive.after ?? [])];
  const prefix = archive.options.findLast(({ name }) => name === "--prefix")?.value ?? null;
  const members = [...parsedArgs.words, ...(parsedArgs.after ?? [])];
  const isMoved = prefix !== null || has(parsedArgs, "--strip-components", "--transform");
  if (isMoved)
    return [
      {
        name: "tar -x",
        ...(prefix === null || members.length > 0 ? pathsOrAll(members) : pathsOf([prefix])),
        where,
      },
    ];
  const paths = pathsOrAll(members.length > 0 ? members : packed);
  const isHere = where.dir !== null && where.dir === call.place.dir && !where.isBelow;
  const isWhole = tree?.known === true && !tree.text.includes(":");
  return [{ name: "tar -x", ...paths, ...(isHere && isWhole ? filesOf(tree.text) : {}), where }];
};

/** The letters as options, each with the word that is its value. */
function oldForm(letters: string, words: readonly Value[]): readonly Value[] {
  const rest = [...words];
  const options = [...letters].flatMap(letter => {
    const option = asValue(`-${letter}`);
    const value = unpacking.short?.includes(letter) ? rest.shift() : undefined;
    return value === undefined ? [option] : [option, value];
  });
  return [...options, ...rest];
}

/** Of what git does not know, only the files that the revision has are overwritten. */
function filesOf(revision: string): Pick<Over, "changes"> {
  const isPut = { by: "files", orPath: false, loses: "tracked", isForced: true } as const;
  return { changes: { ...isPut, revisions: [revision], during: [], stashes: [] } };
}

/** With -R a patch takes work out of files, as does a patch that git wrote with -R. Others are edits. */
const patch: Rule = ({ values, input, ...from }) => {
  const parsedArgs = readArguments(values.slice(1), {
    short: "BdDFgioprVxYz",
    long: [
      "--directory",
      "--input",
      "--strip",
      "--output",
      "--reject-file",
      "--prefix",
      "--suffix",
      "--fuzz",
    ],
  });
  const { words, options } = parsedArgs;
  const last = (...of: readonly string[]) => options.findLast(({ name }) => of.includes(name))?.value ?? null;
  if (has(parsedArgs, "--dry-run", "-o", "--output")) return [];
  const folder = last("-d", "--directory");
  const where = folder === null ? from : enter(from, folder);
  const isBack = has(parsedArgs, "-R", "--reverse");
  const [file, text = last("-i", "--input")] = words;
  const isRead = text === null || text.whole === "-";
  const place = { dir: where.isBelow ? null : where.dir, gitDir: null, workTree: null };
  const shown = isRead ? patchIn(input, place) : null;
  if (shown === null ? !isBack : !reverses(shown, isBack)) return [];
  const name = isBack ? "patch -R" : "patch";
  if (file !== undefined) return file.known ? [{ name, ...named(file.text, where) }] : [];
  const { isReversed: _, ...rest } = shown ?? { ...all, isReversed: false };
  return [{ name, ...rest, where }];
};

const rules: ReadonlyMap<string, Rule> = new Map([
  ["tee", tee],
  ["tar", tar],
  ["gtar", tar],
  ["bsdtar", tar],
  ["patch", patch],
  ["gpatch", patch],
]);
