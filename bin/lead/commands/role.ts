import { type Command, Option } from "commander";
import { type Role, roles } from "../../../protocol/lead/roles.ts";
import type { Run } from "../../process-context.ts";
import { giveRole, listRoles, type RoleFlags } from "../roles/role.ts";

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
