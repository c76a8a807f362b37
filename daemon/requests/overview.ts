/** overview: what `kite status` shows, in one answer. */
import { isAbsolute } from "node:path";
import { refuse } from "../../protocol/codes.ts";
import { limits } from "../../protocol/limits.ts";
import type { OverviewReply, SettingsRow } from "../../protocol/schemas/overview.ts";
import type { UserConfig } from "../config/config.ts";
import { offRows } from "../config/off-switch.ts";
import { countTasks } from "../core/tables/tasks.ts";
import type { RescueServices } from "../rescue/services.ts";
import type { Steps } from "../server/turns.ts";
import type { StoreServices } from "../sharing/services.ts";
import { storeNow } from "../sharing/show.ts";
import type { DaemonServices, RequestHandler } from "./handler.ts";
import { damageNow, lostNow } from "./points.ts";
import { answerFor } from "./query.ts";
import { statsOf } from "./stats.ts";

type OverviewServices = DaemonServices & RescueServices & StoreServices;

/** The lists of the reply, each the first page of a query. */
const lists = {
  sessions: "sessions",
  locks: "locks",
  holds: "holds",
  refusals: "refusals",
  risks: "risks",
  watched: "task_watched",
} as const;

/** Where a store is set. */
const listsOfOthers = { elsewhere: "elsewhere", sameFiles: "same_files" } as const;

export const overview: RequestHandler<"overview", OverviewServices> = async (services, { cwd }, call) => {
  if (cwd !== undefined && !isAbsolute(cwd)) {
    const error = `overview: cwd: ${cwd} is relative; give an absolute path`;
    call.reply(refuse("invalid_request", error, { path: "cwd" }));
    return;
  }
  await call.connection.room();
  const found = cwd === undefined ? { project: null } : await services.facts.repository(cwd);
  const place =
    "unreachable" in found
      ? { project: null, unreachable: found.unreachable }
      : { project: found.project, ...projectTasks(services, found.project) };
  const wanted = services.shared === null ? lists : { ...lists, ...listsOfOthers };
  const named = Object.entries(wanted).map(async ([name, target]) => {
    const shown = await answerFor(services, { target, limit: limits.rowsMax });
    return [name, shown] as const;
  });
  const answers = await Promise.all(named);
  // An agent sees kept work of its own project alone.
  const maySee = place.project !== null || call.connection.isPersons;
  const wiped = maySee ? await lostNow(services, place.project) : {};
  const kept = { ...wiped, ...damageNow(services) };
  await call.replyLong(() => overviewText(services, { ...place, ...kept }, answers));
};

function projectTasks({ engine }: OverviewServices, project: string | null): object {
  if (project === null) return {};
  const log = engine.logOf(project);
  return { projectTasks: countTasks(log.state.tasks, log.project(project)) };
}

/** Yields the reply as text: its lists are text already. */
function* overviewText(
  services: OverviewServices,
  place: object,
  answers: readonly (readonly [string, Awaited<ReturnType<typeof answerFor>>])[],
): Steps<string> {
  const off = offRows(services.offSwitches.read(), services.clock.wall());
  const mode = services.settings.values.mode === "observe" ? { mode: "observe" } : {};
  const settings = settingsRow(services.settings);
  const changedFiles = services.seenFiles.changed();
  const fields = { ...place, off, ...mode, changedFiles, ...settings, ...storeField(services) };
  const parts = [
    `{"ok":true,${JSON.stringify(fields).slice(1, -1)},"stats":${JSON.stringify(statsOf(services))}`,
  ];
  for (const [name, shown] of answers) {
    const list = typeof shown === "function" ? yield* shown() : shown;
    parts.push(`"${name}":${typeof list === "string" ? list : JSON.stringify(list)}`);
  }
  return `${parts.join(",")}}`;
}

function storeField(services: OverviewServices): Pick<OverviewReply, "store"> {
  const { shared } = services;
  return shared === null ? {} : { store: storeNow(services, shared) };
}

function settingsRow({ problem = null, waiting = [] }: UserConfig): { readonly settings?: SettingsRow } {
  return problem === null && waiting.length === 0 ? {} : { settings: { problem, waiting } };
}
