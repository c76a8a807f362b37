/**
 * Judges what guarded lines do to commits of other live sessions: rewrite them, take them off a branch, publish them, or
 * delete what is left of them.
 *
 * Only what lies between the old and the new place of a ref is looked at. What cannot be read refuses nothing. Without
 * another session in the project nothing is looked at.
 */

import type {
  ForeignCommit,
  GuardedCommand,
  GuardFinding,
  HeadMove,
  RefUse,
} from "../../../protocol/guard.ts";
import { limits } from "../../../protocol/limits.ts";
import { type Actor, actorKey } from "../../core/frame/actors.ts";
import { presentIn } from "../../core/sessions/room.ts";
import { commitKey, type MadeCommit } from "../../core/tables/uncommitted.ts";
import { isForeignAuthor } from "../../core/work/commits.ts";
import type { ListedCommit } from "../../facts/git/commits.ts";
import type { GitPlace } from "../../facts/git/process.ts";
import type { Services } from "../../options.ts";
import { nameOf } from "../../views/sessions.ts";
import type { Candidate, Placed } from "./findings.ts";
import type { AskedOnce, CommitLook } from "./memory.ts";
import { commitNamed, pushLook, upToBefore } from "./pushes.ts";

type Become = NonNullable<GuardFinding["become"]>;

/** Commits that a command of a line concerns. */
interface Concerned {
  readonly become: Become;
  readonly commits: readonly ListedCommit[];
  readonly upTo?: GuardFinding["upTo"];
}

/** Whether another live session is in the project, or the actor's own in another terminal. */
function isWithOthers({ engine }: Services, actor: Actor, project: string): boolean {
  const { sessions } = engine.state;
  if ((sessions.live.get(actor.session)?.incarnations.length ?? 0) > 1) return true;
  for (const { id } of presentIn(sessions, project)) if (id !== actor.session) return true;
  return false;
}

/** The project of a repository, if the actor is not alone in it; else null. */
export async function sharedProject(
  services: Services,
  actor: Actor,
  place: GitPlace,
): Promise<string | null> {
  const around = await services.facts.repository(place.worktree);
  if ("unreachable" in around) return null;
  return isWithOthers(services, actor, around.project) ? around.project : null;
}

/** Whether any other live session made a commit of the project that Kite knows. */
export function hasForeignCommits({ engine }: Services, actor: Actor | null, project: string): boolean {
  const { commits, sessions } = engine.state;
  for (const [session, keys] of commits.madeBy) {
    if (!sessions.live.has(session) || (session === actor?.session && !isTwice(engine.state, session)))
      continue;
    for (const key of keys) if (commits.made.get(key)?.project === project) return true;
  }
  return false;
}

function isTwice({ sessions }: Services["engine"]["state"], session: string): boolean {
  return (sessions.live.get(session)?.incarnations.length ?? 0) > 1;
}

/** The commit as Kite knows it, if another live session made it; else null. */
export function foreignCommit(
  { engine }: Services,
  actor: Actor | null,
  project: string,
  commit: string,
): MadeCommit | null {
  const made = engine.state.commits.made.get(commitKey({ project, commit }));
  return made?.actors.some(one => isForeignAuthor(engine.state, actor, one)) ? made : null;
}

/** Looks at each repository of the line. */
export async function commitsOf(
  services: Services,
  actor: Actor,
  placed: readonly Placed[],
  asked: AskedOnce,
): Promise<{ readonly candidates: readonly Candidate[]; readonly looks: readonly CommitLook[] }> {
  const candidates: Candidate[] = [];
  const looks = new Map<string, CommitLook>();
  for (const one of placed) {
    const { command, place, isSupposed, blind } = one;
    if (isSupposed || blind !== undefined) continue;
    const project = await sharedProject(services, actor, place);
    if (project === null) continue;
    const before = looks.get(place.gitDir) ?? {
      ...{ place, project, olds: [], publishes: [], command: null, makes: false },
    };
    const makes = before.makes || makesCommits(command);
    const named = {
      ...before,
      makes,
      command: before.command ?? (isMoving(command) ? shortName(command) : null),
    };
    looks.set(place.gitDir, named);
    if (command.refs === undefined || !hasForeignCommits(services, actor, project)) continue;
    const { concerned, olds } = await concernedBy(services, actor, one, command.refs, project);
    const publishes = concerned.flatMap(({ become, commits }) => (become === "published" ? commits : []));
    looks.set(place.gitDir, {
      ...named,
      olds: [...named.olds, ...olds],
      publishes: [
        ...named.publishes,
        ...publishes.filter(c => foreignCommit(services, actor, project, c.commit)),
      ],
    });
    for (const each of concerned) candidates.push(...candidateOf(services, actor, one, project, each, asked));
  }
  return { candidates, looks: [...looks.values()] };
}

function makesCommits({ commits, name, refs }: GuardedCommand): boolean {
  return (
    commits || refs?.does === "add" || refs?.does === "rewrite" || /^git (?:rebase|pull|commit)\b/.test(name)
  );
}

function isMoving({ refs }: GuardedCommand): boolean {
  return refs !== undefined && refs.does !== "add" && refs.does !== "expire";
}

/** The command's name for people; what rewrites says so. */
function shortName({ name, refs }: GuardedCommand): string {
  if (refs?.does === "rewrite" && name.startsWith("git commit")) return "git commit --amend";
  return refs?.does === "end" ? `git ${refs.operation} --${refs.how}` : name;
}

/** The finding about these commits, if any of them is another live session's. */
function candidateOf(
  services: Services,
  actor: Actor,
  { n, command, place }: Placed,
  project: string,
  { become, commits, upTo }: Concerned,
  asked: AskedOnce,
): readonly Candidate[] {
  const isHolding = (row: MadeCommit) => become !== "published" || isAtTurn(services, actor, row);
  const rows = commits.flatMap(listed => {
    const made = foreignCommit(services, actor, project, listed.commit);
    return made !== null && isHolding(made) ? [{ listed, made }] : [];
  });
  const keyOf = (commit: string) => [actorKey(actor), project, commit].join("\n");
  const isNew = ({ listed }: (typeof rows)[number]) =>
    become !== "published" || !asked.has(keyOf(listed.commit));
  const untold = rows.filter(isNew);
  const held = untold.length > 0 ? untold : rows;
  if (held.length === 0) return [];
  const shown = held
    .slice(0, limits.commitsShownMax)
    .map(({ listed, made }) => rowOf(services, listed, made));
  const finding: GuardFinding = {
    command: n,
    verdict: "tell_first",
    foreign: [],
    own: [],
    more: held.length - shown.length,
    commits: shown,
    become,
    ...(upTo === undefined ? {} : { upTo }),
    worktree: place.worktree,
  };
  const name = shortName(command);
  const versions = held.map(({ listed }) => [[n, name, become, listed.commit].join(" "), ""] as const);
  const asks = become === "published" ? { asks: held.map(({ listed }) => keyOf(listed.commit)) } : {};
  return [{ finding, versions: async () => new Map(versions), ...asks }];
}

function rowOf(services: Services, { commit, subject }: ListedCommit, { actors }: MadeCommit): ForeignCommit {
  const { live } = services.engine.state.sessions;
  const who = actors.map(({ actor, name }) => (live.has(actor.session) ? nameOf(services, actor) : name));
  return { commit, subject, who: [...new Set(who)] };
}

/** Whether the turn of another live session that made the commit is open. */
function isAtTurn({ engine, presence }: Services, actor: Actor, { actors }: MadeCommit): boolean {
  return actors.some(
    one => isForeignAuthor(engine.state, actor, one) && presence.isInTurn(one.actor.session),
  );
}

interface Concern {
  readonly concerned: readonly Concerned[];
  readonly olds: readonly string[];
}

const nothing: Concern = { concerned: [], olds: [] };

/** The commits that a command concerns, and where the refs are that it moves. */
async function concernedBy(
  services: Services,
  actor: Actor,
  { place }: Placed,
  use: RefUse,
  project: string,
): Promise<Concern> {
  switch (use.does) {
    case "rewrite":
      return rewritten(services, place, use.revisions ?? null);
    case "move":
      return moved(services, place, use);
    case "delete":
      return use.isRemote ? nothing : deleted(services, place, use.branches);
    case "end":
      return operationEnd(services, place, use);
    case "expire":
      return expired(services, actor, place, use.by, project);
    case "push":
      return pushed(services, actor, place, use, project);
    default:
      return nothing;
  }
}

async function headCommit({ facts }: Services, place: GitPlace): Promise<string | null> {
  const head = await facts.heads.now(place);
  return "unreachable" in head ? null : head.commit;
}

async function listed(
  { facts }: Services,
  place: GitPlace,
  become: Become,
  olds: readonly string[],
  not: readonly string[],
  max?: number,
): Promise<Concern> {
  const commits = await facts.history.between(place, olds, not, max);
  return { concerned: "unreachable" in commits ? [] : [{ become, commits }], olds };
}

/** `revisions` null: the latest commit is amended. */
async function rewritten(
  services: Services,
  place: GitPlace,
  revisions: readonly string[] | null,
): Promise<Concern> {
  const head = await headCommit(services, place);
  if (head === null) return nothing;
  if (revisions === null) return listed(services, place, "rewritten", [head], [], 1);
  return listed(services, place, "rewritten", revisions.length === 0 ? [head] : revisions, []);
}

/** A ref goes to another commit: those that only its old place has are concerned. */
async function moved(services: Services, place: GitPlace, use: HeadMove): Promise<Concern> {
  const { facts } = services;
  if (use.ifSet !== undefined) {
    const set = await facts.heads.setting(place, use.ifSet);
    if (typeof set !== "string" || /^(?:false|no|off|0|)$/i.test(set)) return nothing;
  }
  const from = movedRef(use);
  if (from === null) return nothing;
  const old = from === "HEAD" ? await headCommit(services, place) : await commitNamed(facts, place, from);
  const isRenamed = use.by === "branch" && use.newBranch !== undefined;
  const to = isRenamed ? (use.onlyOn === undefined ? "HEAD" : use.onlyOn) : use.to;
  const next = to === null ? null : await commitNamed(facts, place, to);
  if (old === null || next === null || old === next) return nothing;
  if (use.ifApart) {
    const news = await facts.history.between(place, [next], [old], 1);
    if ("unreachable" in news || news.length === 0) return nothing;
  }
  const become = use.by === "rebase" || use.by === "pull" ? "rewritten" : "dropped";
  return listed(services, place, become, [old], [next]);
}

/** The ref that a command moves so that its branch may lose commits; null: none. */
function movedRef({ by, newBranch, isForced, onlyOn, branch }: HeadMove): string | null {
  const short = (name: string | null) => (name === null ? null : `refs/heads/${name}`);
  switch (by) {
    case "reset":
    case "pull":
      return "HEAD";
    case "rebase":
      return branch === undefined ? "HEAD" : short(branch);
    case "checkout":
    case "switch":
      return isForced && newBranch !== undefined ? short(newBranch) : null;
    case "branch":
      return newBranch === undefined ? short(onlyOn ?? null) : short(newBranch);
    case "update-ref":
      return onlyOn === undefined ? "HEAD" : short(onlyOn);
    default:
      return null;
  }
}

/** What other refs have stays. */
async function deleted(services: Services, place: GitPlace, branches: readonly string[]): Promise<Concern> {
  const names = branches.filter(name => !/[*?[\\]/.test(name)).map(name => `refs/heads/${name}`);
  if (names.length === 0) return nothing;
  const refs = await services.facts.history.refs(place, ...names);
  if ("unreachable" in refs) return nothing;
  const found = names.filter(name => refs.has(name));
  const olds = found.map(name => refs.get(name) ?? "");
  return listed(services, place, "dropped", olds, [...found.map(name => `--exclude=${name}`), "--all"]);
}

/** The files in which git keeps where an operation began. */
const origins: ReadonlyMap<string, readonly string[]> = new Map([
  ["rebase", ["rebase-merge/orig-head", "rebase-apply/orig-head"]],
  ["cherry-pick", ["sequencer/head"]],
  ["revert", ["sequencer/head"]],
  ["am", ["rebase-apply/orig-head", "ORIG_HEAD"]],
  ["bisect", ["BISECT_START"]],
]);

/** The end of an operation takes HEAD back to where it began, or with `--continue` its branch away from there. */
async function operationEnd(
  services: Services,
  place: GitPlace,
  { operation, how }: Extract<RefUse, { does: "end" }>,
): Promise<Concern> {
  const { facts } = services;
  const head = await facts.heads.now(place);
  if ("unreachable" in head || head.commit === null) return nothing;
  // A rebase is on no branch: it loses what no ref has, and not the commits of the branch on which it puts others.
  const kept = head.ref === null ? ["--glob=refs/*"] : [];
  for (const file of origins.get(operation) ?? []) {
    const text = await facts.history.small(place, file);
    if (typeof text !== "string") continue;
    const begun = await commitNamed(facts, place, text);
    if (begun === null) return nothing;
    return how === "abort"
      ? listed(services, place, "dropped", [head.commit], [begun, ...kept])
      : { concerned: [], olds: [begun] };
  }
  return nothing;
}

/** Commits of others that no ref has: only a log of refs keeps them, or with `prune` nothing but their age. */
async function expired(
  services: Services,
  actor: Actor,
  place: GitPlace,
  by: "reflog" | "prune",
  project: string,
): Promise<Concern> {
  const { made } = services.engine.state.commits;
  const known = [...made.values()].filter(
    row => row.project === project && foreignCommit(services, actor, project, row.commit) !== null,
  );
  const ids = known.map(({ commit }) => commit).slice(-limits.refCommitsMax);
  const kept = by === "prune" ? ["--all", "--reflog"] : ["--all"];
  const found = await listed(services, place, "deleted", ids, kept);
  return { ...found, olds: [] };
}

/** What it publishes, and with force what it takes off the remote. */
async function pushed(
  services: Services,
  actor: Actor,
  place: GitPlace,
  use: Extract<RefUse, { does: "push" }>,
  project: string,
): Promise<Concern> {
  const look = await pushLook(services, place, use);
  if (look === null || "unreachable" in look) return nothing;
  const { remote, published, unpublished, only } = look;
  const upTo = remote === null || only === null ? null : before(services, actor, project, published);
  const isOver = upTo !== null && (await isAhead(services, place, only?.has ?? null, upTo));
  const line =
    isOver && only !== null && remote !== null ? { upTo: { remote, commit: upTo, branch: only.branch } } : {};
  const out = published.length === 0 ? [] : [{ become: "published", commits: published, ...line } as const];
  const off = unpublished.length === 0 ? [] : [{ become: "unpublished", commits: unpublished } as const];
  return { concerned: [...out, ...off], olds: [] };
}

/** The latest of the actor's own commits that can be pushed without those of others whose turn is open. */
function before(
  services: Services,
  actor: Actor,
  project: string,
  published: readonly ListedCommit[],
): string | null {
  const { made } = services.engine.state.commits;
  const isHeld = (commit: string) => {
    const row = foreignCommit(services, actor, project, commit);
    return row !== null && isAtTurn(services, actor, row);
  };
  const isOwn = (commit: string) =>
    made.get(commitKey({ project, commit }))?.actors.some(one => one.actor.session === actor.session) ===
    true;
  return upToBefore(published, isHeld, isOwn);
}

async function isAhead(
  { facts }: Services,
  place: GitPlace,
  from: string | null,
  to: string,
): Promise<boolean> {
  return (await facts.heads.isAhead(place, from, to)) === true;
}
