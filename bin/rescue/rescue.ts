/** `kite rescue` lists what was wiped, brings it back, and removes kept versions for good. */

import { isUtf8 } from "node:buffer";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { RescueStateReply, VersionRow, WipedRow, WipeRow } from "../../protocol/schemas/rescue.ts";
import { nearPath } from "../../protocol/text.ts";
import { absolute } from "../context/actor.ts";
import { refuseAgent } from "../context/person.ts";
import {
  type ProcessContext,
  print,
  printFramed,
  printJson,
  type Run,
  screenOf,
} from "../context/process-context.ts";
import { fileTyped, realPath, type ScopeFlags, scopeProject } from "../context/project.ts";
import { ask, asPerson, exitCodes, fail, printDone, rowsOf } from "../context/with-daemon.ts";
import { sinceForms, sinceTime } from "../trail/explained.ts";
import { bytes, clean, counted, type Screen } from "../view/text.ts";
import {
  addWait,
  filesOf,
  type RestoredFile,
  restore,
  type Tools,
  type WaitFlag,
  waitOf,
  wipeNamed,
} from "./restore.ts";
import { damageTexts, fileWord, offLines, versionRows, wipesView } from "./shown.ts";
import { isBinary, Texts } from "./texts.ts";
import { type Asker, asAsker, Commits, contentOf, readerOf, versionsAt, versionsOf } from "./versions.ts";

// `kite rescue purge`: removes kept versions for good.

interface PurgeFlags {
  readonly before?: string;
  readonly json?: boolean;
}

/** Returns the exit code. */
async function purge(
  world: ProcessContext,
  file: string | undefined,
  { before, json = false }: PurgeFlags,
): Promise<number> {
  const refused = await refuseAgent(world, json, "purge");
  if (refused !== null) return refused;
  const at = before === undefined ? null : sinceTime(before, world.now());
  if (before !== undefined && at === null)
    return fail(world, json, "usage", `--before takes ${sinceForms}, not ${before}`);
  if (file === undefined && at === null)
    return fail(world, json, "usage", "say what to remove: a file, or --before a time, or both");
  const path = file === undefined ? {} : { file: resolve(absolute(world.cwd, fileTyped(file))) };
  const time = at === null ? {} : { before: at };
  return asPerson(
    world,
    json,
    async client => {
      const reply = await ask(client, "rescue_purge", { ...path, ...time });
      if (json) {
        printJson(world, reply);
        return exitCodes.done;
      }
      const { versions, contents, bytes: size, alsoIn } = reply;
      const what =
        versions === 0
          ? "Kite keeps no such version: nothing was removed."
          : `Removed for good: ${counted(versions, "version")}, ${counted(contents, "content")}, ${bytes(size)}.`;
      const also = alsoIn.map(
        other =>
          `! The same content is kept of ${clean(nearPath(other, world.cwd))}: kite rescue purge ${fileWord(nearPath(other, world.cwd))}`,
      );
      const { setAside = 0, asideFolder = "" } = (await ask(client, "rescue_state", {})).damage ?? {};
      const unknown = `! ${counted(setAside, "content")} of unknown files ${setAside === 1 ? "stays" : "stay"}, and may be meant: kite rescue purge ${fileWord(asideFolder)}`;
      return printDone(world, false, reply, () => [what, ...also, ...(setAside > 0 ? [unknown] : [])]);
    },
    { person: "always" },
  );
}

// Patches as `git apply` takes them.

/** A file of a patch; `before` null: there was none; `after` null: it is deleted. */
interface PatchedFile {
  /** The path from the top of the worktree. */
  readonly file: string;
  readonly mode: number;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
}

/** Returns the patch of a file; null: it is no UTF-8 text. Empty if nothing changed. Throws `ProgramFailed`. */
export async function patchOf(
  texts: Texts,
  { file, mode, before, after }: PatchedFile,
): Promise<Buffer | null> {
  const [old, fresh] = [before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)];
  if ([old, fresh].some(content => isBinary(content) || !isUtf8(content))) return null;
  if (before !== null && after !== null && before.equals(after)) return Buffer.alloc(0);
  const [from, to] = [quoted(`a/${file}`), quoted(`b/${file}`)];
  const kind = mode % 2 === 1 ? "100755" : "100644";
  const hunks = await texts.unified(old, fresh);
  const head = [
    `diff --git ${from} ${to}`,
    ...(before === null ? [`new file mode ${kind}`] : []),
    ...(after === null ? [`deleted file mode ${kind}`] : []),
    ...(hunks.length === 0
      ? []
      : [`--- ${before === null ? "/dev/null" : from}`, `+++ ${after === null ? "/dev/null" : to}`]),
  ];
  return Buffer.concat([Buffer.from(`${head.join("\n")}\n`), hunks]);
}

/** Returns a path as git writes it in a patch: in quotes if it has a newline, a tab, a quote or a byte beyond ASCII. */
function quoted(path: string): string {
  if (/^[ !#-[\]-~]*$/.test(path)) return path;
  const bytes = [...Buffer.from(path)].map(byte => {
    const character = String.fromCharCode(byte);
    if (character === '"' || character === "\\") return `\\${character}`;
    return byte < 0x20 || byte > 0x7e ? `\\${byte.toString(8).padStart(3, "0")}` : character;
  });
  return `"${bytes.join("")}"`;
}

// `kite rescue`: what was wiped lately; `kite rescue restore`: brings it back.

interface RescueFlags extends ScopeFlags {
  readonly json?: boolean;
}

interface RestoreFlags extends WaitFlag {
  readonly into?: string;
  readonly patch?: boolean;
  readonly whole?: boolean;
  readonly conflicts?: boolean;
  readonly json?: boolean;
}

/** Wipes that are shown. */
const wipesMax = 20;
/** Contents that were set aside and are shown. */
const asideMax = 20;

/** Lists what was wiped. Returns the exit code. */
function rescued(world: ProcessContext, flags: RescueFlags): Promise<number> {
  const json = flags.json === true;
  return asAsker(world, json, async asker => {
    const wipes = await wipesFor(world, asker, flags);
    const state = await ask(asker.client, "rescue_state", {});
    const { setAside = 0, asideFolder = "" } = state.damage ?? {};
    const isShown = asker.acting === null && setAside > 0;
    const aside = isShown ? await versionsOf(asker, asideFolder) : [];
    if (json) printJson(world, { ok: true, wipes, state, ...(isShown ? { aside } : {}) });
    else {
      const screen = screenOf(world);
      printFramed(world, [...rescueView(wipes, state, screen), ...asideLines(aside, asideFolder, screen)]);
    }
    return exitCodes.done;
  });
}

async function wipesFor(world: ProcessContext, asker: Asker, flags: RescueFlags): Promise<WipeRow[]> {
  const project = asker.acting === null ? await scopeProject(world, undefined, flags) : null;
  return rowsOf(asker.client, "wipes", { ...(project === null ? {} : { project }), ...readerOf(asker) });
}

function rescueView(wipes: readonly WipeRow[], state: RescueStateReply, screen: Screen): readonly string[] {
  if (!state.on) return offLines;
  const shown = wipes.slice(0, wipesMax);
  const more = wipes.length - shown.length;
  const { versions, files, bytes: size, waiting, missed, damage, trouble } = state;
  return [
    ...(shown.length === 0 ? ["Kite saw nothing wiped here lately."] : wipesView(shown, screen)),
    ...(more > 0 ? ["", `${counted(more, "earlier wipe")}: kite rescue --json`] : []),
    "",
    `Kite keeps ${counted(versions, "version")} of ${counted(files, "file")}, ${bytes(size)}: kite history FILE`,
    ...(waiting > 0 ? ["! Kite still looks at what changed, and may find more: ask again in a moment."] : []),
    ...(missed > 0 ? [`! ${counted(missed, "write")} could not be kept since the daemon started.`] : []),
    ...damageTexts(damage, trouble).map(line => `! ${line.replace("; see kite rescue", "")}`),
  ];
}

/** What was set aside, the latest first, and how to look at it. */
function asideLines(rows: readonly VersionRow[], folder: string, screen: Screen): string[] {
  const [latest] = rows;
  if (latest === undefined) return [];
  const shown = rows.slice(0, asideMax);
  return [
    "",
    ...versionRows(shown, true, screen),
    ...(rows.length > shown.length ? [`  and ${rows.length - shown.length} more: kite rescue --json`] : []),
    `  look at one: kite rescue restore ${latest.version} --into DIR`,
    `  remove all, which else go after 14 days: kite rescue purge ${fileWord(folder)}`,
  ];
}

/** Brings back what a wipe took. Returns the exit code. */
function restored(
  world: ProcessContext,
  id: string,
  file: string | null,
  flags: RestoreFlags,
): Promise<number> {
  const { json = false, into, patch = false, whole = false, conflicts: marks = false } = flags;
  const waitMs = waitOf(flags);
  if (typeof waitMs === "string") return Promise.resolve(fail(world, json, "usage", waitMs));
  const wrong = misuse(flags);
  if (wrong !== null) return Promise.resolve(fail(world, json, "usage", wrong));
  return asAsker(world, json, async asker => {
    const wipe = await wipeNamed(asker, id);
    const files = await filesOf(asker, wipe, file);
    return withTools(world, async tools => {
      if (patch) return printPatch(world, asker, tools, wipe, files, json);
      const how = { into: into === undefined ? null : await realPath(world.cwd, into), whole, marks, waitMs };
      const done = await restore(asker, tools, wipe, files, how);
      return printRestored(world, wipe, done, file !== null, json);
    });
  });
}

function misuse({ into, patch, whole, conflicts }: RestoreFlags): string | null {
  const ways = [
    into !== undefined && "--into",
    patch && "--patch",
    whole && "--whole",
    conflicts && "--conflicts",
  ];
  const options = ways.filter(way => typeof way === "string");
  return options.length > 1 ? `give one of ${options.join(" and ")}` : null;
}

/** Runs work with what compares texts, and removes the temporary files. */
export async function withTools<T>(
  world: { readonly env: ProcessContext["env"]; readonly cwd: string },
  work: (tools: Tools) => Promise<T>,
): Promise<T> {
  const texts = Texts.open(world);
  try {
    return await work({ texts, commits: new Commits(world) });
  } finally {
    texts?.close();
  }
}

function printRestored(
  world: ProcessContext,
  { wipe, more }: WipeRow,
  files: readonly RestoredFile[],
  isPart: boolean,
  json: boolean,
): number {
  const isAll = files.every(({ is }) => is !== "left" && is !== "marked") && (isPart || more === 0);
  if (json) printJson(world, { ok: isAll, wipe, files });
  else {
    const unnamed =
      isPart || more === 0 ? [] : [`! Kite did not note ${counted(more, "further file")} of ${wipe}.`];
    print(world, [...files.map(one => restoredLine(one, world.cwd)), ...unnamed]);
  }
  return isAll ? exitCodes.done : exitCodes.failed;
}

/** What became of a file. The names in it stay on the line. */
function restoredLine({ path, version, is, why, conflicts, before }: RestoredFile, cwd: string): string {
  const name = clean(nearPath(path, cwd));
  const had =
    before === null
      ? ""
      : `; what it had is ${before}: kite undo ${fileWord(nearPath(path, cwd))} --to ${before}`;
  switch (is) {
    case "restored":
      return `${version} is back in ${name}${had}`;
    case "merged":
      return `${version} is merged into what ${name} had${had}`;
    case "marked":
      return `! ${version} is in ${name} with marks at ${counted(conflicts, "conflict")}${had}`;
    case "same":
      return `all of ${version} is in ${name} already`;
    case "left":
      return `! ${name} stays as it is: ${clean(why ?? "")}`;
  }
}

async function printPatch(
  world: ProcessContext,
  asker: Asker,
  { texts, commits }: Tools,
  { worktree }: WipeRow,
  files: readonly WipedRow[],
  json: boolean,
): Promise<number> {
  if (texts === null) return fail(world, json, "not_available", "git, which makes patches, is not installed");
  const patches: { readonly file: string; readonly patch: string | null }[] = [];
  for (const { path, file, version } of files) {
    const row = (await versionsAt(asker, path, worktree)).find(one => one.version === version);
    const after = row === undefined ? null : await contentOf(row);
    if (row === undefined || after === null) {
      patches.push({ file, patch: null });
      continue;
    }
    const before = await commits.content(row.base, row);
    const patch = await patchOf(texts, { file, mode: row.mode, before, after });
    patches.push({ file, patch: patch?.toString("utf8") ?? null });
  }
  const missing = patches.filter(({ patch }) => patch === null);
  if (json) printJson(world, { ok: missing.length === 0, patches });
  else {
    for (const { patch } of patches) if (patch !== null) world.stdout.write(patch);
    for (const { file } of missing)
      world.stderr.write(
        `kite: ${clean(file)}: its content is gone, or no patch can have it; try --into DIR\n`,
      );
  }
  return missing.length === 0 ? exitCodes.done : exitCodes.failed;
}

const help = `
Rescue lists what was wiped lately in the project: by which command of whom, whose lines they were, and how many. restore
brings it back. kite history FILE lists all kept versions of a file, and kite help rescue says what is kept where, what is
never kept, and how to switch it off. An agent sees its own project alone.

--json: {"ok":true, "wipes":[...], "state":{...}}, rows as \`query\` gives them

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite rescue
  $ kite rescue restore r-12`;

const restoreHelp = `
A file that did not go on since gets its version back as a whole. Into one that did, Kite merges the kept work; where lines
overlap it says so, and leaves the file alone. What a file had before is kept, too. A restore is an edit: it waits for the
file's lock, and freezes and gates hold it back; an agent restores into its project's worktrees alone.

--json: {"ok":true, "wipe", "files":[{"file", "path", "version", "is":"restored"|"merged"|"marked"|"same"|"left", "why",
"conflicts", "before", "lines"}]}

Exit codes: 0 all of it is there again, 1 refused, or some of it is not, 3 no daemon runs.

Examples:
  $ kite rescue restore r-12
  $ kite rescue restore r-12 src/auth.ts
  $ kite rescue restore r-12 --into /tmp/lost
  $ kite rescue restore r-12 --patch > lost.patch`;

const purgeHelp = `
The versions are removed from the disk, and nothing brings them back. Where another file has a version with the same
content, purge names it. Only a person purges.

--json: {"ok":true, "versions", "contents", "bytes", "alsoIn":[...]}

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite rescue purge config/secrets.yml
  $ kite rescue purge --before 7d`;

export function add(command: Command, run: Run): void {
  command
    .enablePositionalOptions()
    .option("--all", "show all projects")
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((flags: RescueFlags) => run(world => rescued(world, flags)));
  const restores = command
    .command("restore")
    .description("bring back what was wiped")
    .argument("<id>", "what was wiped: r-12, as kite rescue lists it; or a version: v-12")
    .argument("[file]", "only this file of it, or the files below this directory")
    .option("--into <dir>", "bring the files back into this directory instead")
    .option("--patch", "print the lost work as a patch, and write nothing")
    .option("--whole", "put the kept version in the place of all that a file has now")
    .option("--conflicts", "where lines overlap, write both with git's marks");
  addWait(restores)
    .option("--json", "print one JSON object")
    .addHelpText("after", restoreHelp)
    .action((id: string, file: string | undefined, flags: RestoreFlags) =>
      run(world => restored(world, id, file ?? null, flags)),
    );
  command
    .command("purge")
    .description("remove kept versions for good")
    .argument("[file]", "of this file, or of all files below this directory")
    .option("--before <time>", "only versions before this: a date, or an age such as 7d")
    .option("--json", "print one JSON object")
    .addHelpText("after", purgeHelp)
    .action((file: string | undefined, flags: PurgeFlags) => run(world => purge(world, file, flags)));
}
