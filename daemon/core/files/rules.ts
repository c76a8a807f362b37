/** The rules of uncommitted work: see `core/rules.ts`. */
import { passing } from "../durability.ts";
import type { Rules } from "../rules.ts";
import type { WriteCommands } from "./commands.ts";
import { workReturned, writesNoted, writesSettled } from "./dirty-files.ts";
import { workTaken } from "./work-taken.ts";
import { workWiped } from "./work-wiped.ts";

export const writeRules: Rules<WriteCommands> = {
  commands: {
    writes_noted: passing(writesNoted),
    writes_settled: passing(writesSettled),
    work_returned: passing(workReturned),
    work_taken: passing(workTaken),
    work_wiped: passing(workWiped),
  },
};
