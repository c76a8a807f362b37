/** What a person sees of the store: how it is, its nodes, what this machine shares, and what stays here. */
import { limits } from "../../protocol/limits.ts";
import {
  type LocalProjectRow,
  type StoreNodeRow,
  type StoreRow,
  type StoreShowReply,
  type StoreState,
  storeRowsMax,
} from "../../protocol/schemas/store.ts";
import { offRows } from "../config/off-switch.ts";
import type { State } from "../core/state.ts";
import { sharedProject } from "../store/shared-project.ts";
import { unmovedOf } from "./both-logs.ts";
import { whyOf } from "./condition.ts";
import { staleOf } from "./reads.ts";
import type { StoreServices } from "./services.ts";
import type { SharedStore } from "./shared-store.ts";

/** Projects of which is looked why they stay here, since each look reads files. */
const looksMax = 20;

/** `cwd`: a directory whose project is looked at, too. */
export async function showStore(services: StoreServices, cwd: string | undefined): Promise<StoreShowReply> {
  const { shared } = services;
  const { outbox } = services.engine.state;
  const projects = [...outbox.projects].map(([project, as]) => ({ project, as })).slice(0, storeRowsMax);
  if (shared === null) return { ok: true, store: null, nodes: [], projects, local: [] };
  const nodes = nodeRows(shared);
  const local = await localRows(services, shared, cwd);
  return { ok: true, store: { ...storeRow(shared), ...coordination(services) }, nodes, projects, local };
}

function storeRow(shared: SharedStore): StoreRow {
  const { where: address, node, machine, condition, back } = shared;
  const where = address.replace(/^postgresql:\/\/|\?.*$/g, "");
  const since = condition.is === "away" ? condition.sinceMs : null;
  const code = condition.is === "refused" ? { code: condition.code } : {};
  const asOf = staleOf(shared)?.asOfMs ?? null;
  const [unmoved, leaveUndoneAt] = [unmovedOf(shared), shared.records.undoneAtMs];
  return {
    where,
    node,
    machine,
    is: condition.is,
    since,
    why: whyOf(condition),
    wentBackAt: back.atMs,
    ...(asOf === null || asOf === since ? {} : { asOf }),
    ...code,
    ...(leaveUndoneAt === null ? {} : { leaveUndoneAt }),
    ...(unmoved === null ? {} : { unmoved }),
  };
}

/** Returns the store as screens show it. */
export function storeState(shared: SharedStore): StoreState {
  const nodes = nodeRows(shared).map(({ machine, is }) => ({ machine, is }));
  return { ...storeRow(shared), nodes };
}

/** Returns the same with whether edits are coordinated now: they do not need the store, but Kite may be off. */
export function storeNow(services: Coordinating, shared: SharedStore): StoreState {
  return { ...storeState(shared), ...coordination(services) };
}

type Coordinating = Pick<StoreServices, "config" | "clock">;

function coordination({ config, clock }: Coordinating): Pick<StoreRow, "uncoordinated"> {
  const { offSwitches, settings } = config;
  const isOn = offRows(offSwitches.read(), clock.wall()).length === 0 && settings.values.mode === "act";
  return isOn ? {} : { uncoordinated: true };
}

/**
 * Returns the nodes, this one first, then by their machines' names. They are as of the latest entry: while the store is away nobody
 * knows which of the others is silent. While it is open, each node makes an entry every `limits.nodeRenewMs`.
 */
function nodeRows({ state, node: own }: SharedStore): StoreNodeRow[] {
  if (state === null) return [];
  const now = state.t;
  const rows = [...state.leases.all.values()].map(({ node, machine, renewedAtMs, isLost, levels }) => {
    const renewedAgoMs = Math.max(0, now - renewedAtMs);
    const is = isLost
      ? ("lost" as const)
      : renewedAgoMs >= limits.nodeAwayMs
        ? ("away" as const)
        : ("here" as const);
    const sessions = state.sessions.byNode.get(node)?.size ?? 0;
    return { node, machine, isThis: node === own, is, renewedAgoMs, level: levels.to, sessions };
  });
  const byName = (a: StoreNodeRow, b: StoreNodeRow) => (a.machine < b.machine ? -1 : 1);
  return rows.sort((a, b) => Number(b.isThis) - Number(a.isThis) || byName(a, b)).slice(0, storeRowsMax);
}

async function localRows(
  services: StoreServices,
  { own }: SharedStore,
  cwd: string | undefined,
): Promise<LocalProjectRow[]> {
  const rows = new Map<string, LocalProjectRow>();
  for (const place of [...(cwd === undefined ? [] : [cwd]), ...worktrees(own.state)]) {
    const repository = await services.facts.repository(place);
    if ("unreachable" in repository) continue;
    const { project } = repository;
    if (rows.has(project) || own.state.outbox.projects.has(project)) continue;
    const rules = await services.config.rules.at(repository);
    const found = await sharedProject(services.projectNames, repository, rules.sections.project);
    if ("unreachable" in found) rows.set(project, { project, name: null, why: found.unreachable });
    else rows.set(project, { project, name: found.name, why: found.name === null ? found.why : null });
  }
  return [...rows.values()];
}

/** Returns a worktree of each project in which a session is, but for shared ones. */
function worktrees({ sessions, outbox }: State): string[] {
  const found = new Map<string, string>();
  for (const { project, worktree } of sessions.live.values()) {
    if (found.size >= looksMax) break;
    if (!outbox.projects.has(project) && worktree.startsWith("/")) found.set(project, worktree);
  }
  return [...found.values()];
}
