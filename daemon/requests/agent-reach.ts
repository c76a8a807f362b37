/**
 * How far an agent's freezes and its locks of directories reach: below its project's worktrees and its working directory.
 * A person's reach everywhere, and so does an agent's lock of a named file.
 */
import { homedir } from "node:os";
import { dirname } from "node:path";
import { type Refusal, refuse } from "../../protocol/codes.ts";
import type { FileRef } from "../core/frame/actors.ts";
import { pathOf } from "../core/tables/naming.ts";
import { idOfKey, type Session, sessionsOf } from "../core/tables/sessions.ts";
import { fileName } from "../facts/facts.ts";
import type { Repository } from "../facts/repositories.ts";
import type { Services } from "../options.ts";

type Reaching = Pick<Services, "engine" | "facts" | "node">;

const asks = {
  lock: {
    verb: "locks",
    advice: (file: string) =>
      `lock the files that you need by their names, or ask your user: kite lock ${file} -- COMMAND`,
  },
  freeze: {
    verb: "freezes",
    advice: (file: string) => `freeze files of your own project, or ask your user: kite freeze ${file}`,
  },
} as const;

/**
 * Returns why the session's agents may not lock or freeze all of `files`, or null. An id that is not registered has no
 * project: only what holds a home or another's worktree is beyond its reach.
 */
export async function beyondReach(
  services: Reaching,
  session: string,
  files: readonly FileRef[],
  what: keyof typeof asks,
): Promise<Refusal | null> {
  for (const file of files) {
    const why = await whyBeyond(services, services.engine.state.sessions.live.get(session), file);
    if (why === null) continue;
    if (typeof why !== "string") return why;
    const { verb, advice } = asks[what];
    const error = `${file.file} ${why}: only a person ${verb} it; ${advice(file.file)}`;
    return refuse("person_only", error, { file: file.file, path: pathOf(file) });
  }
  return null;
}

async function whyBeyond(
  services: Reaching,
  session: Session | undefined,
  file: FileRef,
): Promise<string | Refusal | null> {
  if (isBelow(await keyOf(services, homedir()), file.key))
    return file.key === (await keyOf(services, "/")) ? "is the whole machine" : "holds your user's home";
  const around = await repositoryAround(services, pathOf(file));
  if ("unreachable" in around) {
    const error = `${file.file} could not be checked: ${around.unreachable}; try again`;
    return refuse("path_unreachable", error, { file: file.file });
  }
  const who = file.dir ? await whoWorksBelow(services, session, file, around) : null;
  if (who !== null) return who;
  const isOwn = session === undefined || (await isWithin(services, session, file, around));
  return isOwn ? null : "is outside of your project's worktrees and your working directory";
}

/**
 * Says of which other repository's worktree the directory holds, and who works there; null: no session works in one. It
 * names another's before the session's own: a client may name its project, which may have several repositories.
 */
async function whoWorksBelow(
  services: Reaching,
  session: Session | undefined,
  file: FileRef,
  around: Repository,
): Promise<string | null> {
  const found = new Map<string, string>();
  const start = comparable(`${pathOf(file)}/`);
  for (const worktree of services.engine.state.sessions.worktrees.keys()) {
    if (!comparable(worktree).startsWith(start)) continue;
    if (!isBelow(await keyOf(services, worktree), file.key)) continue;
    const its = await services.facts.repository(worktree);
    if ("unreachable" in its || its.project !== around.project)
      found.set(whoWorksIn(services, session, worktree), worktree);
  }
  const who = [someone, foreign, colleague, self].find(one => found.has(one));
  return who === undefined ? null : `holds ${found.get(who)}, where ${who}`;
}

const someone = "a session works";
const foreign = "another project's session works";
const colleague = "another session of your project works";
const self = "you work";

function whoWorksIn({ engine }: Reaching, session: Session | undefined, worktree: string): string {
  if (session === undefined) return someone;
  const { live, worktrees } = engine.state.sessions;
  const there = [...(worktrees.get(worktree) ?? [])].flatMap(key => live.get(idOfKey(key)) ?? []);
  if (there.some(({ project }) => project !== session.project)) return foreign;
  return there.some(({ id }) => id !== session.id) ? colleague : self;
}

async function isWithin(
  services: Reaching,
  { cwd, worktree, project }: Session,
  file: FileRef,
  around: Repository,
): Promise<boolean> {
  for (const own of [cwd, worktree]) if (isBelow(file.key, await keyOf(services, own))) return true;
  const its = await services.facts.repository(worktree);
  if (!("unreachable" in its) && its.project === around.project) return true;
  // A client may name its project, which its sessions share.
  const path = `${pathOf(file)}/`;
  for (const other of sessionsOf(services.engine.state.sessions, project))
    if (path.startsWith(`${other.worktree}/`)) return true;
  return false;
}

/** The repository around the deepest directory on the way to `path` that exists. */
async function repositoryAround(services: Reaching, path: string) {
  let at = path;
  while (at !== "/") {
    const fact = await services.facts.path("/", at);
    if ("unreachable" in fact) return fact;
    if (fact.dir) break;
    at = dirname(at);
  }
  return await services.facts.repository(at);
}

/** A place that cannot be read in time counts by its name. */
async function keyOf(services: Reaching, directory: string): Promise<string> {
  const { key } = await fileName(services, "/", directory);
  return key ?? `${services.node}:${directory}`;
}

/** Whether the one is the other, or below it. The root's key is that of no name. */
function isBelow(key: string, top: string): boolean {
  return key === top || key.startsWith(`${top}/`);
}

/** Paths that differ in this form are different directories, however these fold names; equal ones may be one. */
function comparable(path: string): string {
  return path.normalize("NFC").toLowerCase();
}
