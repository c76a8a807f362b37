import type { Command } from "commander";
import type { Run } from "../../process-context.ts";
import { subcommand } from "../../subcommand.ts";
import type { CloseFlags, EntryFlags, OpenFlags, PlaceFlags } from "../debates/change.ts";
import type { ListFlags } from "../debates/look.ts";

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

const otherProject = "another project than that of the working directory";

export function add(program: Command, run: Run): void {
  const debate = program
    .command("debate")
    .description("challenge rival hypotheses before one is chosen")
    .addHelpText("after", overview);
  addOpen(debate, run);
  addEntries(debate, run);
  addClose(debate, run);
  addViews(debate, run);
}

function addOpen(debate: Command, run: Run): void {
  subcommand(debate, "open", "open a debate; its participants get a message", [
    '$ kite debate open "Why does it hang?" --hypothesis race="two write" --hypothesis leak="no memory"',
  ])
    .argument("<question...>")
    .option("--hypothesis <name=claim>", "a rival; twice or more", collect, [])
    .option(
      "--participant <name>",
      "whom to tell, once or more; by default everybody in the project",
      collect,
      [],
    )
    .option("--project <project>", `${otherProject}; only at a terminal`)
    .action(async (words: readonly string[], flags: OpenFlags) => {
      const { open } = await import("../debates/change.ts");
      await run(world => open(world, words.join(" "), flags));
    });
}

function addEntries(debate: Command, run: Run): void {
  entry(
    debate,
    run,
    "challenge",
    "doubt a hypothesis: the debate waits for an answer",
    "race it hangs alone, too",
  );
  entry(debate, run, "evidence", "say what speaks for a hypothesis", "race two stacks in refresh()").option(
    "--against",
    "it speaks against the hypothesis",
  );
  subcommand(debate, "answer", "answer a challenge", ['$ kite debate answer 1a 3 "not on one core"'])
    .argument("<debate>")
    .argument("<number>", "the challenge, by the number of its entry")
    .argument("<text...>")
    .option("--project <project>", otherProject)
    .action(async (of: string, number: string, words: readonly string[], flags: PlaceFlags) => {
      const { answer } = await import("../debates/change.ts");
      await run(world => answer(world, of, number, words.join(" "), flags));
    });
  subcommand(debate, "concede", "give a hypothesis up: it can no longer be chosen", [
    "$ kite debate concede 1a leak",
  ])
    .argument("<debate>")
    .argument("<hypothesis>")
    .argument("[text...]", "why")
    .option("--project <project>", otherProject)
    .action(async (of: string, hypothesis: string, words: readonly string[], flags: PlaceFlags) => {
      const { concede } = await import("../debates/change.ts");
      await run(world => concede(world, of, hypothesis, words.join(" "), flags));
    });
}

function entry(
  debate: Command,
  run: Run,
  kind: "challenge" | "evidence",
  says: string,
  example: string,
): Command {
  return subcommand(debate, kind, says, [`$ kite debate ${kind} 1a ${example}`])
    .argument("<debate>")
    .argument("<hypothesis>")
    .argument("<text...>")
    .option("--project <project>", otherProject)
    .action(async (of: string, hypothesis: string, words: readonly string[], flags: EntryFlags) => {
      const { speak } = await import("../debates/change.ts");
      await run(world => speak(world, kind, of, hypothesis, words.join(" "), flags));
    });
}

function addClose(debate: Command, run: Run): void {
  subcommand(debate, "close", "choose a hypothesis; refused with all that is missing", [
    '$ kite debate close 1a --verdict race --because "it goes away on one core"',
  ])
    .argument("<debate>")
    .requiredOption("--verdict <name>", "the hypothesis")
    .requiredOption("--because <text>", "why")
    .option("--force", "although something is missing; only a person may, and the verdict says so")
    .option("--project <project>", otherProject)
    .action(async (of: string, flags: CloseFlags) => {
      const { close } = await import("../debates/change.ts");
      await run(world => close(world, of, flags));
    });
}

function addViews(debate: Command, run: Run): void {
  subcommand(debate, "list", "list the debates of the project, open ones first", ["$ kite debate list"])
    .option("--project <project>", otherProject)
    .action(async (flags: ListFlags) => {
      const { list } = await import("../debates/look.ts");
      await run(world => list(world, flags));
    });
  subcommand(debate, "show", "show everything that was said", ["$ kite debate show 1a"])
    .argument("<debate>")
    .option("--project <project>", otherProject)
    .action(async (of: string, flags: ListFlags) => {
      const { show } = await import("../debates/look.ts");
      await run(world => show(world, of, flags));
    });
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
