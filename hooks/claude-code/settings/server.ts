/**
 * Adds Kite's tools to the client's file of servers, and removes them. The client itself writes that file all the time,
 * so Kite writes it as a whole, under the client's own lock. Kite keeps no copy of it, because it holds more than
 * settings; uninstall removes only the added text.
 */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { limits } from "../../../protocol/limits.ts";
import type { KitePaths } from "../../../protocol/paths.ts";
import { named, refuseLinked, removeText, replaceText, retried } from "../../install/file.ts";
import { isEmpty } from "../../install/hooks-text.ts";
import { mcpPath } from "../../install/launcher.ts";
import { whileLocked } from "../../install/lock-file.ts";
import { linkTarget, readText } from "../../install/read-file.ts";
import { addServer, type Made, removeServer } from "../../install/server-text.ts";
import { projectRoot } from "./project.ts";
import { readServers, type ServerRecord, writeServers } from "./servers.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A place in the client's file of servers: `project` is null for all projects. */
export interface ServerPlace {
  readonly file: string;
  readonly project: string | null;
}

/** Returns the user's servers: in `CLAUDE_CONFIG_DIR`, else in the home directory. */
export function userServers(env: Env): ServerPlace {
  const dir = env["CLAUDE_CONFIG_DIR"] || env["HOME"] || homedir();
  return { file: join(resolve(dir), ".claude.json"), project: null };
}

/** Returns the user's private servers of one project and all its worktrees. */
export function projectServers(env: Env, dir: string): ServerPlace {
  return { file: userServers(env).file, project: mainRoot(projectRoot(dir)) };
}

/** Adds the server. Returns true if it changed the file. Throws InstallFailed if the file is unusable. */
export async function addTools(paths: KitePaths, place: ServerPlace): Promise<boolean> {
  const file = linkTarget(place.file);
  mkdirSync(dirname(file), { recursive: true });
  const entry = { type: "stdio", command: mcpPath(paths.bin), args: [], env: {} };
  return await change(paths, { ...place, file }, (old, record) => {
    const { text, made } = addServer(old ?? "{}\n", pathOf(place), entry, paths.bin);
    const before: Pick<ServerRecord, "made" | "madeFile"> | undefined = record;
    const fresh = { made: made ?? before?.made ?? null, madeFile: before?.madeFile ?? old === null };
    return { text, record: { ...place, file, ...fresh } };
  });
}

/** Removes the server. Returns true if the file had it. */
export async function removeTools(paths: KitePaths, place: ServerPlace): Promise<boolean> {
  const file = linkTarget(place.file);
  const there = readText(file, limits.clientFileBytes);
  const isIn =
    there !== null && named(file, () => removeServer(there, pathOf(place), paths.bin, null)) !== there;
  // Without anything to undo, this creates no file, not even a lock.
  if (!isIn && !existsSync(paths.servers)) return false;
  return await change(paths, { ...place, file }, (old, record) => {
    const made: Made | null = record?.made ?? null;
    const text = removeServer(old ?? "{}", pathOf(place), paths.bin, made);
    return { text: record?.madeFile === true && isEmpty(text) ? null : text, record: null };
  });
}

/** Returns true if the file has the entry with which the client starts Kite's tools. */
export function hasTools(paths: KitePaths, place: ServerPlace): boolean {
  try {
    const text = readText(linkTarget(place.file), limits.clientFileBytes);
    return text !== null && removeServer(text, pathOf(place), paths.bin, null) !== text;
  } catch {
    return false; // If Kite cannot read the file, the client cannot either.
  }
}

/** Returns the recorded places with Kite's server. */
export function placesWithTools(paths: KitePaths): readonly ServerPlace[] {
  return readServers(paths.servers).map(({ file, project }) => ({ file, project }));
}

type Change = (
  old: string | null,
  record: ServerRecord | undefined,
) => {
  /** The new text; null removes the file. */
  readonly text: string | null;
  readonly record: ServerRecord | null;
};

async function change(paths: KitePaths, place: ServerPlace, work: Change): Promise<boolean> {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  return await whileLocked(paths.servers, () =>
    whileLocked(place.file, () => {
      const records = readServers(paths.servers);
      return retried(place.file, () => changeNow(paths, place, work, records));
    }),
  );
}

/** Returns true if it wrote, null if another program wrote meanwhile. `records` are those from before the first try. */
function changeNow(
  paths: KitePaths,
  { file, project }: ServerPlace,
  work: Change,
  records: readonly ServerRecord[],
): boolean | null {
  const old = readText(file, limits.clientFileBytes);
  const known = records.find(r => r.file === file && r.project === project);
  const { text, record } = named(file, () => work(old, known));
  if (text !== old) refuseLinked(file);
  // The last place to be removed must remove the file that the first one created.
  const inherits = (r: ServerRecord) => record === null && known?.madeFile === true && r.file === file;
  const others = records.filter(r => r !== known).map(r => (inherits(r) ? { ...r, madeFile: true } : r));
  writeServers(paths.servers, record === null ? others : [...others, record]);
  if (text === old) return false;
  const done = text === null ? old === null || removeText(file, old) : replaceText(file, text, 0o600, old);
  return done ? true : null;
}

function pathOf({ project }: ServerPlace): readonly string[] {
  return project === null ? ["mcpServers"] : ["projects", project, "mcpServers"];
}

/** Returns a worktree's repository, because the client treats all its worktrees as one project. */
function mainRoot(root: string): string {
  const pointer = fileText(join(root, ".git"));
  const [, main] = /^gitdir: (.+)\/\.git\/worktrees\/[^/]+\s*$/.exec(pointer) ?? [];
  return main === undefined ? root : resolve(root, main);
}

/** Returns a small regular file's text; "" for a folder (the main worktree's `.git`) or anything else. */
function fileText(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return "";
  return readText(path, limits.smallFileBytes) ?? "";
}
