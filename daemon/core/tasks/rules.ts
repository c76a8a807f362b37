/** The rules of tasks: see `core/rules.ts`. */
import { lasting, lastingAndFreeing } from "../durability.ts";
import type { Rules } from "../rules.ts";
import { taskApprove } from "./approve.ts";
import { taskClaim, taskRelease } from "./claim.ts";
import type { TaskCommands } from "./commands.ts";
import { taskCreate, taskImport, taskRemove } from "./create.ts";
import { taskReturn } from "./return.ts";
import { taskUpdate } from "./update.ts";

export const taskRules: Rules<TaskCommands> = {
  commands: {
    task_create: lasting(taskCreate),
    task_import: lasting(taskImport),
    task_update: lasting(taskUpdate),
    task_claim: lasting(taskClaim),
    task_release: lastingAndFreeing(taskRelease),
    task_remove: lasting(taskRemove),
    task_approve: lasting(taskApprove),
    task_return: lasting(taskReturn),
  },
  shared: [
    "task_create",
    "task_import",
    "task_update",
    "task_claim",
    "task_release",
    "task_remove",
    "task_approve",
  ],
};
