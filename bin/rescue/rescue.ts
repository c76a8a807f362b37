/** `kite rescue`: what was wiped lately; `kite rescue restore`: brings it back. */

import type { RescueStateReply, VersionRow, WipedRow, WipeRow } from "../../protocol/schemas/rescue.ts";
import { nearPath } from "../../protocol/text.ts";
import { type ProcessContext, print, printFramed, printJson, screenOf } from "../process-context.ts";
import { realPath } from "../real-path.ts";
import { type ScopeFlags, scopeProject } from "../scope.ts";
import { bytes, clean, counted, type Screen } from "../view/text.ts";
import { damageTexts, fileWord, offLines, versionRows, wipesView } from "../view/versions.ts";
import { ask, exitCodes, fail, rowsOf } from "../with-daemon.ts";
import { type Asker, asAsker, readerOf } from "./asker.ts";
import { Commits } from "./committed.ts";
import { patchOf } from "./patch.ts";
import { filesOf, type RestoredFile, restore, type Tools, wipeNamed } from "./restore.ts";
import { Texts } from "./texts.ts";
import { contentOf, versionsAt, versionsOf } from "./versions.ts";
import { type WaitFlag, waitOf } from "./write-back.ts";

export interface RescueFlags extends ScopeFlags {
  readonly json?: boolean;
}

export interface RestoreFlags extends WaitFlag {
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
export function rescued(world: ProcessContext, flags: RescueFlags): Promise<number> {
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
export function restored(
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
  const given = ways.filter(way => typeof way === "string");
  return given.length > 1 ? `give one of ${given.join(" and ")}` : null;
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
