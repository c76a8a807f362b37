import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { addVerbs } from "../../verbs/command.ts";
import { debateVerbs } from "../debates/verbs.ts";

const overview = `
A debate keeps rival hypotheses apart until each was challenged. It closes with a verdict only after every challenge to the
chosen hypothesis is answered, and every rival was challenged or conceded. No agent settles it with itself: another one than
the challenger answers, and another one than who closes it challenges something. An agent alone in its project needs no other
one; the verdict says so. An agent concedes what it introduced or supports; a person may do anything, and --force it. Name a
debate of this project by its id, the beginning of its id, or its last part alone (1a of d-mhx3k2p1-1a). A debate of another
project needs its whole id, or --project. The command acts for the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its
agent in KITE_AGENT), else for you at this terminal. It ends when the change is safe on disk.

The verdict is shared with the project: kite context get debate/ID

--json: commands that change a debate print {"ok":true, "debate":ID, ...}, list {"rows":[...]}, show
{"ok":true, "debate":{...}, "participants":[...], "entries":[...]}, a refusal {"ok":false, "code", "error", ...}.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite debate open "Why does login hang?" --hypothesis race="two refresh at once" --hypothesis leak="no memory is left"
  $ kite debate challenge 1 race "it hangs alone, too"
  $ kite debate answer 1 1 "not on one core"
  $ kite debate concede 1 leak
  $ kite debate close 1 --verdict race --because "it goes away on one core"`;

export function add(debate: Command, run: Run): void {
  debate.addHelpText("after", overview);
  addVerbs(debate, run, debateVerbs);
}
