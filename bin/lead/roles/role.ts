/** `kite role`: lists roles, and gives an agent one. */

import type { RoleSetReply } from "../../../protocol/lead/role-set.ts";
import { gatesFor, type Role, roles } from "../../../protocol/lead/roles.ts";
import { nearest } from "../../../protocol/text.ts";
import { type RefuseOptions, refuseAgent } from "../../person.ts";
import type { ProcessContext } from "../../process-context.ts";
import { projectOf } from "../../project.ts";
import { clean, wrap } from "../../view/text.ts";
import { ask, asPerson, fail, printDone, printShown, rowsOf, withDaemon } from "../../with-daemon.ts";
import { roleAdvice, roleLines, roleRows, rolesView } from "../view/roles.ts";
import { gatesIn } from "./gates.ts";

export interface RoleFlags {
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
      const given = await ask(client, "role_set", { name, project, role });
      if (given.machine !== undefined)
        return printDone(world, json, given, ({ width }) =>
          sentLines(given, role).flatMap(l => wrap(l, width)),
        );
      const { role: gate } = gatesFor(await gatesIn(client, project), given.by);
      const now = { ...given, gate };
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
