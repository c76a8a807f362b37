/** `kite diff`: what changed between versions of a file, or what is not committed, by writer. */
import { existsSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { VersionRow } from "../../protocol/rescue.ts";
import type { WriteRow } from "../../protocol/write.ts";
import { type ProcessContext, printFramed, printJson, screenOf } from "../process-context.ts";
import { findRepository } from "../project.ts";
import { realPath } from "../real-path.ts";
import { type Asker, asAsker } from "../rescue/asker.ts";
import { Commits, type CommittedFile } from "../rescue/committed.ts";
import { bytesOf } from "../rescue/merge.ts";
import { onDisk } from "../rescue/on-disk.ts";
import { patchOf } from "../rescue/patch.ts";
import { isBinary, Texts } from "../rescue/texts.ts";
import { isBy } from "../rescue/undo-steps.ts";
import { contentOf, neededContent, uncommittedOf, versionsOf } from "../rescue/versions.ts";
import { scopeProject } from "../scope.ts";
import { paint } from "../view/color.ts";
import { clean, listed, type Screen } from "../view/text.ts";
import { authorName, diffLines } from "../view/versions.ts";
import { exitCodes, fail, Refused, rowsOf } from "../with-daemon.ts";
import { type Part, partsOf, type Written } from "./by-writer.ts";

export interface DiffFlags {
  readonly from?: string;
  readonly to?: string;
  readonly by?: string;
  readonly patch?: boolean;
  readonly json?: boolean;
}

/** Files of one diff. */
const filesMax = 500;

const noGit = "git, which compares the texts, is not installed, or not in the PATH";

/** Returns the exit code. */
export function diff(world: ProcessContext, what: string | undefined, flags: DiffFlags): Promise<number> {
  const json = flags.json === true;
  return asAsker(world, json, async asker => {
    const texts = Texts.open(world);
    if (texts === null) return fail(world, json, "not_available", noGit);
    try {
      const isOfVersions = flags.from !== undefined || flags.to !== undefined;
      if (!isOfVersions) return await uncommitted(world, asker, texts, what, flags);
      if (what === undefined)
        return fail(world, json, "usage", "--from and --to need a file: kite diff FILE --from v-1");
      return await between(world, asker, texts, await realPath(world.cwd, what), flags);
    } finally {
      texts.close();
    }
  });
}

/** A difference of one file; `writers` null: nobody asked whose it is. */
interface Shown {
  readonly file: string;
  readonly path: string;
  readonly writers: Part["writers"] | null;
  readonly mode: number;
  readonly before: Buffer | null;
  readonly after: Buffer;
}

async function between(
  world: ProcessContext,
  asker: Asker,
  texts: Texts,
  path: string,
  { from, to, patch, json }: DiffFlags,
): Promise<number> {
  const rows = await versionsOf(asker, path);
  const place = await placeOf(path, rows);
  const of = async (name: string | undefined, isFrom: boolean): Promise<Buffer | null> => {
    const commits = new Commits(asker);
    if (name === undefined && isFrom) return commits.content(await commits.head(place.worktree), place);
    if (name === undefined) return bytesOf(onDisk(path));
    const row = rows.find(({ version }) => version === name);
    return row === undefined ? undefinedVersion(name, place) : await neededContent(row);
  };
  const before = await of(from, true);
  const after = (await of(to, false)) ?? Buffer.alloc(0);
  const shown = { ...place, path, writers: null, mode: 0o644, before, after };
  return print(world, texts, [shown], { patch: patch === true, json: json === true });
}

function undefinedVersion(name: string, { file }: CommittedFile): never {
  throw new Refused({
    ok: false,
    code: "unknown_version",
    error: `Kite keeps no version ${name} of ${file}; kite history --all ${file} lists them`,
  });
}

async function uncommitted(
  world: ProcessContext,
  asker: Asker,
  texts: Texts,
  what: string | undefined,
  { by, patch = false, json = false }: DiffFlags,
): Promise<number> {
  const found = await meant(world, asker, what, by);
  if (typeof found === "string") return fail(world, json, "usage", found);
  const { name } = found;
  const shown: Shown[] = [];
  for (const path of found.paths.slice(0, filesMax)) {
    const parts = await partsOfFile(asker, texts, path, patch && name === null);
    const own = parts.filter(({ writers }) => name === null || isPartOf(writers, name));
    const shared = patch && name !== null ? own.filter(({ writers }) => (writers?.length ?? 0) > 1) : [];
    if (shared.length > 0)
      world.stderr.write(`kite: ${clean(path)}: lines that others changed, too, are left out\n`);
    shown.push(...own.filter(part => !shared.includes(part)));
  }
  const code = await print(world, texts, shown, { patch, json });
  const more = found.paths.length - filesMax;
  if (more > 0) world.stderr.write(`kite: ${more} further files are not shown: name a file\n`);
  return code;
}

/** The files that are meant, and by whom; a sentence if nothing is. */
async function meant(
  world: ProcessContext,
  { client }: Asker,
  what: string | undefined,
  by: string | undefined,
): Promise<{ readonly paths: readonly string[]; readonly name: string | null } | string> {
  const path = what === undefined ? null : await realPath(world.cwd, what);
  const project = path === null || !existsSync(path) ? await scopeProject(world, undefined, {}) : null;
  const rows = await rowsOf(client, "writes");
  const own = rows.filter(row => project === null || row.project === project);
  const paths = (some: readonly WriteRow[]) => [...new Set(some.map(row => row.path))].sort();
  const name = by ?? null;
  if (path === null) return { paths: paths(own), name };
  const here = rows.filter(row => row.path === path || row.path.startsWith(`${path}/`));
  if (here.length > 0 || existsSync(path)) return { paths: here.length === 0 ? [path] : paths(here), name };
  const its = own.filter(row => row.writers.some(one => isBy({ by: one }, what ?? "")));
  if (its.length > 0 && by === undefined) return { paths: paths(its), name: what ?? null };
  return { paths: [path], name };
}

function isPartOf(writers: Part["writers"] | null, name: string): boolean {
  return writers?.some(one => one !== null && isBy({ by: one }, name)) === true;
}

/** What is not committed of a file: as one, or by writer. */
async function partsOfFile(asker: Asker, texts: Texts, path: string, isOne: boolean): Promise<Shown[]> {
  const rows = await versionsOf(asker, path);
  const place = await placeOf(path, rows);
  const { committed, versions } = await uncommittedOf(new Commits(asker), place, rows);
  const disk = onDisk(path);
  const now = bytesOf(disk);
  if (now === null) return [];
  const shown = { ...place, path, mode: disk.is === "file" ? disk.mode : 0o644, before: committed };
  const base = committed ?? Buffer.alloc(0);
  if (isOne) return base.equals(now) ? [] : [{ ...shown, writers: null, after: now }];
  if (isBinary(base) || isBinary(now)) {
    const writers = versions.length === 0 ? [null] : versions.slice(0, 1).map(row => row.by);
    return base.equals(now) ? [] : [{ ...shown, writers, after: now }];
  }
  const states: Written[] = [];
  for (const row of [...versions].reverse()) {
    const content = await contentOf(row);
    if (content !== null && !isBinary(content)) states.push({ by: row.by, content });
  }
  if (states.at(-1)?.content.equals(now) !== true) states.push({ by: null, content: now });
  const parts = await partsOf((before, after) => texts.hunks(before, after), base, states);
  return parts.map(({ writers, content }) => ({ ...shown, writers, after: content }));
}

/** Where the file is: as its versions say, else as git does. */
async function placeOf(path: string, [row]: readonly VersionRow[]): Promise<CommittedFile> {
  if (row !== undefined) return { worktree: row.worktree, file: row.file };
  const found = await findRepository(dirname(path));
  if ("unreachable" in found) return { worktree: dirname(path), file: relative(dirname(path), path) };
  return { worktree: found.worktree, file: relative(found.worktree, path) };
}

async function print(
  world: ProcessContext,
  texts: Texts,
  shown: readonly Shown[],
  { patch, json }: { readonly patch: boolean; readonly json: boolean },
): Promise<number> {
  const screen = screenOf(world);
  if (json) {
    const diffs: object[] = [];
    for (const { before, after, ...one } of shown)
      diffs.push({
        ...one,
        isText: !(isBinary(before ?? after) || isBinary(after)),
        diff: (await texts.unified(before ?? Buffer.alloc(0), after)).toString("utf8"),
      });
    printJson(world, { ok: true, diffs });
    return exitCodes.done;
  }
  const lines: string[] = [];
  let isPartial = false;
  for (const one of shown) {
    if (!patch) lines.push(...(await linesOf(texts, one, screen)));
    else {
      const bytes = await patchOf(texts, one);
      isPartial ||= bytes === null;
      if (bytes === null)
        world.stderr.write(`kite: ${clean(one.file)} is no text, so that no patch has it\n`);
      else world.stdout.write(bytes.toString("utf8"));
    }
  }
  if (!patch) printFramed(world, lines.length === 0 ? ["Nothing differs."] : lines);
  return isPartial ? exitCodes.failed : exitCodes.done;
}

async function linesOf(
  texts: Texts,
  { file, writers, before, after }: Shown,
  screen: Screen,
): Promise<readonly string[]> {
  const old = before ?? Buffer.alloc(0);
  if (old.equals(after)) return [];
  const names = writers === null ? "" : `  ${listed(writers.map(authorName))}`;
  const many = (writers?.length ?? 0) > 1 ? ", in the same lines" : "";
  if (isBinary(old) || isBinary(after))
    return [
      `${paint(screen, "bold", clean(file))}${names}: no text, ${old.length} bytes became ${after.length}`,
    ];
  const hunks = await texts.unified(old, after);
  const signs = hunks.toString("latin1").split("\n");
  const count = (sign: string) => signs.filter(line => line.startsWith(sign)).length;
  const head = `In ${paint(screen, "bold", clean(file))}${names}${many}  +${count("+")} −${count("-")}`;
  return [head, ...diffLines(hunks, screen)];
}
