/** Builds the services of all handlers. */
import { limits } from "../../protocol/limits.ts";
import { outsideFacts } from "../facts/facts.ts";
import { BudgetedFs } from "../facts/filesystem.ts";
import { GitChild } from "../facts/git/process.ts";
import { GitProgram } from "../facts/git/program.ts";
import { SpawnRoom } from "../facts/spawn-room.ts";
import { allHookServices } from "../hooks/slices.ts";
import { UnhookedWatch } from "../hooks/unhooked-watch.ts";
import { isToken, openPersonToken } from "../instance/person-token.ts";
import type { DaemonOptions } from "../options.ts";
import { Acknowledged } from "../requests/acknowledged.ts";
import type { HandlerServices } from "../requests/handlers.ts";
import { compareWithKept } from "../rescue/compare.ts";
import { openRescue } from "../rescue/services.ts";
import { directoriesOf } from "../sessions/places.ts";
import { PresenceTable } from "../sessions/presence.ts";
import { PresenceFile } from "../sessions/presence-file.ts";
import { renewNode } from "../store/node-id.ts";
import { Recorder } from "../trail/recorder.ts";
import { node, type OpenLog, type Troubles } from "./log.ts";
import { leadServices } from "./slices.ts";

export interface Built {
  readonly services: HandlerServices;
  /** The git that is asked, which learns where sessions work. */
  readonly git: GitProgram;
  /** Watches for writes of agents without hooks. */
  readonly unhooked: UnhookedWatch;
  /** What is kept of the presence of sessions, for the next start. */
  readonly kept: PresenceFile;
}

/** `stop` ends the daemon. */
export function buildServices(
  options: DaemonOptions,
  { engine, clock, trail, events, server, journal, listeners, shared }: OpenLog,
  { onTrouble }: Troubles,
  stop: (why: string) => void,
): Built {
  const { paths, version, config, adapters, log } = options;
  const git = new GitProgram({ env: process.env, workedIn: () => directoriesOf(engine.state) });
  const outside = options.outside ?? new BudgetedFs();
  const gitChild = options.git ?? new GitChild(process.env, git, new SpawnRoom(limits.descriptorsForGit));
  const facts = outsideFacts(outside, gitChild, adapters);
  const presence = new PresenceTable(clock);
  const recorder = new Recorder(trail);
  const kept = new PresenceFile({ path: paths.presence, presence, clock, onTrouble });
  kept.load(engine.state.sessions.live);
  const onProblem = (problem: string) => log.warn(problem);
  const token = openPersonToken(paths.personToken, onTrouble);
  const base = { node, engine, clock, facts, presence, recorder };
  const hooks = allHookServices(base, {
    adapters,
    paths,
    config,
    outside,
    events,
    onTrouble,
    onProblem,
  });
  const services: HandlerServices = {
    ...hooks,
    rescue: openRescue(hooks, { paths, config, outside, git: gitChild, onTrouble }),
    ...leadServices(config, base),
    shared: shared?.store ?? null,
    projectNames: { outside, git: facts },
    renewNode: () => renewNode(paths),
    version,
    startedAt: clock.now(),
    events,
    acknowledged: new Acknowledged(),
    counters: { requests: 0, refused: 0 },
    connections: () => server.connections,
    fewDescriptors: () => server.fewDescriptors,
    isPerson: text => isToken(token, text),
    journal: () => journal.health,
    flushTrail: () => trail.flush(),
    stop,
  };
  const { rescue } = services;
  if (rescue !== null) void compareWithKept(services, rescue, null, true);
  const unhooked = new UnhookedWatch(services, { listeners, warn: onProblem, onTrouble });
  return { services, git, unhooked, kept };
}
