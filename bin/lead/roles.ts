/** `kite role` lists roles, and gives an agent one. */

import { type Command, Option } from "commander";
import type { RoleSetReply } from "../../protocol/lead/role-set.ts";
import { type Gates, gatesFor, type Role, roles } from "../../protocol/lead/roles.ts";
import { nearest } from "../../protocol/text.ts";
import { type RefuseOptions, refuseAgent } from "../context/person.ts";
import type { Client, ProcessContext, Run } from "../context/process-context.ts";
import { projectOf } from "../context/project.ts";
import {
  ask,
  asPerson,
  fail,
  printDone,
  printShown,
  rowsOf,
  unknownForm,
  withDaemon,
} from "../context/with-daemon.ts";
import { clean, type OneAgent, wrap } from "../view/text.ts";
import { heldText, isBounded, roleAdvice, roleLines, roleRows, rolesView } from "./view/features.ts";

// The gates of a project, as the daemon has them.

/** Returns whether the agent is held to its role, in words; null: it has the default one, or one that may do all. */
export async function heldToRole(
  client: Pick<Client, "request" | "daemon">,
  project: string,
  { role }: Pick<OneAgent, "role">,
): Promise<string | null> {
  if (role === undefined || !isBounded(role.role)) return null;
  return heldText[gatesFor(await gatesIn(client, project), role.by).role];
}

/** Returns the gates that are in force in the project. Throws `Refused`. */
export async function gatesIn(client: Pick<Client, "request" | "daemon">, project: string): Promise<Gates> {
  const [row] = await rowsOf(client, "gates", { project });
  if (row === undefined) throw unknownForm(client, "does not say which gates are in force");
  return row;
}

// `kite role`: lists roles, and gives an agent one.

interface RoleFlags {
  readonly clear?: boolean;
  readonly project?: string;
  readonly json?: boolean;
}

/** Returns the exit code, as all functions here do. */
export async function listRoles(world: ProcessContext, flags: RoleFlags): Promise<number> {
  if (flags.clear === true)
    return fail(world, flags.json === true, "usage", "say whose role to take back: kite role NAME --clear");
  const project = flags.project ?? (await projectOf(world.cwd));
  return withDaemon(world, flags.json === true, async client => {
    const gates = await gatesIn(client, project);
    const rows = roleRows(await rowsOf(client, "sessions", { project }), gates);
    return printShown(world, flags.json === true, { roles: rows }, screen => rolesView(rows, screen));
  });
}

/** Gives the named agent the role as typed, or with `--clear` takes back the one that it was given. */
export async function giveRole(
  world: ProcessContext,
  name: string,
  typed: string | undefined,
  flags: RoleFlags,
  who: RefuseOptions = {},
): Promise<number> {
  const json = flags.json === true;
  const role = roles.find(one => one === typed?.toLowerCase()) ?? null;
  if (role !== null && flags.clear === true)
    return fail(world, json, "usage", `--clear takes a role back, so ${role} says nothing; use one of them`);
  if ((role === null) !== (flags.clear === true) || (typed !== undefined && role === null)) {
    const meant = typed === undefined ? null : nearest(typed, roles);
    const hint = meant === null ? `give one of ${roles.join(", ")}, or --clear` : `did you mean ${meant}?`;
    return fail(world, json, "usage", typed === undefined ? hint : `${typed} is no role; ${hint}`);
  }
  const refused = await refuseAgent(world, json, "role", who);
  if (refused !== null) return refused;
  const project = flags.project ?? (await projectOf(world.cwd));
  return asPerson(
    world,
    json,
    async client => {
      const reply = await ask(client, "role_set", { name, project, role });
      if (reply.machine !== undefined)
        return printDone(world, json, reply, ({ width }) =>
          sentLines(reply, role).flatMap(l => wrap(l, width)),
        );
      const { role: gate } = gatesFor(await gatesIn(client, project), reply.by);
      const now = { ...reply, gate };
      return printDone(world, json, now, ({ width }) => [
        ...roleLines(now).flatMap((line, i) => wrap(line, width, i === 0 ? 0 : 2)),
        ...roleAdvice(now).flatMap(line => wrap(line, width)),
      ]);
    },
    { person: "always" },
  );
}

/** What a person reads of a role for an agent of another machine. */
function sentLines({ name, machine = "" }: RoleSetReply, role: Role | null): string[] {
  const does = role === null ? "takes its role back" : `gives it the role ${role}`;
  return [
    `${clean(name)} is on ${clean(machine)}, which ${does} as soon as its daemon hears of it; until then kite status shows that it waits`,
  ];
}

const help = `
Without arguments it lists the agents of the project with their roles. With NAME and ROLE it gives an agent a role. It
counts at once, over restarts of the daemon, and against what the agent itself declares. The session's other agents have
it too, unless they were given their own; that of a lead they have not. --clear takes it back. Only a person gives roles.

The roles are implementer (the default), researcher (reads), tester (edits tests and runs them), reviewer (reads, and
creates tasks), architect (may do everything, and takes critical tasks) and lead (may lower risks, release and stop the
agents of the project, and stands in for your yes to red tasks of others; no agent gets it by declaring it). An agent's
role decides which tasks it may claim. A role that you or a spawn gave is enforced besides: Kite refuses edits, git writes
and new tasks beyond it. A declared one is so only if the gate role says it, and none is if you set that gate to off (kite
config). The answer says which it is.

--json: the list {"roles":[{"id", "agent", "name", "role", "by", "gate"}]}, a change {"ok":true, "id", "agent", "name",
"role", "by", "gate"}. "by" is person, spawn, declared or default; "gate" is enforce, warn or off.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite role
  $ kite role alice researcher
  $ kite role alice/Explore --clear`;

export function add(command: Command, run: Run): void {
  command
    .argument("[name]", "the agent's name, its id, or the beginning of its id")
    .argument("[role]", roles.join(", "))
    .option("--clear", "take back the role that the agent was given")
    .addOption(new Option("--project <project>", "another project than that of the working directory"))
    .option("--json", "print one JSON object")
    .addHelpText("after", help)
    .action((name: string | undefined, role: Role | undefined, flags: RoleFlags) =>
      run(world => (name === undefined ? listRoles(world, flags) : giveRole(world, name, role, flags))),
    );
}
