import { type Command, Option } from "commander";
import type { TaskPriority, TaskStatus } from "../../protocol/task.ts";
import type { ProcessContext } from "../process-context.ts";
import type { AddFlags, ClaimFlags, Ending } from "../tasks/change.ts";
import type { GraphFlags, ListFlags, ScopeFlags } from "../tasks/look.ts";
import type { RemoveFlags } from "../tasks/store.ts";

const overview = `
A task is named by its id, by the beginning of it, or by its last part alone (1a of t-mhx3k2p1-1a), where that says
which. Who acts is the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its agent in KITE_AGENT), else you at this
terminal. Tasks belong to the project of the working directory.

A task is ready when everything it needs is done; a claim lasts as long as its session. An answer comes when the
change is safe on disk.

--json: {"ok":true, "task":{...}} of what changes one, {"tasks":[...]} of what lists them, rows as \`query\` gives them;
of a refusal {"ok":false, "code", "error", ...}.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite task add "Write the schema" --priority high
  $ kite task add "Build the API" --needs 1
  $ kite task claim
  $ kite task done 1 "four tables"
  $ kite task graph`;

const priorities: readonly TaskPriority[] = ["low", "normal", "high"];
const statuses: readonly TaskStatus[] = ["pending", "active", "done", "failed"];

interface JsonFlag {
  readonly json?: boolean;
}

export function add(program: Command): void {
  const task = program
    .command("task")
    .description("plan work: tasks that sessions claim, finish and build on")
    .addHelpText("after", overview);
  addChanges(task);
  addEnds(task);
  addViews(task);
  addStore(task);
}

function addChanges(task: Command): void {
  command(task, "add", "add a task", ['$ kite task add "Build the API" --needs 1 --label web'])
    .argument("<description...>", "what is to be done")
    .addOption(new Option("--priority <priority>", "how urgent").choices(priorities))
    .option("--label <label>", "tag it, once or more", collect, [])
    .option("--needs <task>", "a task that has to be done first, once or more", collect, [])
    .option("--project <project>", "another project than that of the working directory")
    .action(async (words: readonly string[], flags: AddFlags) => {
      const { add } = await import("../tasks/change.ts");
      await run(world => add(world, words.join(" "), flags));
    });
  command(task, "claim", "take the best task that is ready, or the named one", [
    "$ kite task claim",
    "$ kite task claim --label web",
    "$ kite task claim 1a",
  ])
    .argument("[task]", "the task; without it the most urgent that is ready, of these the oldest")
    .option("--label <label>", "only a task with this label, once or more", collect, [])
    .option("--project <project>", "another project than that of the working directory")
    .action(async (name: string | undefined, flags: ClaimFlags) => {
      const { claim } = await import("../tasks/change.ts");
      await run(world => claim(world, name, flags));
    });
  command(task, "release", "give a claimed task back", ["$ kite task release 1a"])
    .argument("<task>")
    .action(async (name: string, { json }: JsonFlag) => {
      const { release } = await import("../tasks/change.ts");
      await run(world => release(world, name, json === true));
    });
}

function addEnds(task: Command): void {
  const ending = (name: string, says: string, status: Ending, example: string, words: string | null) => {
    const one = command(task, name, says, [example]).argument("<task>");
    if (words !== null) one.argument("[words...]", words);
    one.action(async (of: string, ...rest: readonly unknown[]) => {
      const { set } = await import("../tasks/change.ts");
      const said = Array.isArray(rest[0]) ? rest[0].join(" ") : "";
      const result = name === "cancel" ? `cancelled${said === "" ? "" : `: ${said}`}` : said || null;
      await run(world => set(world, of, status, result, one.opts<JsonFlag>().json === true));
    });
  };
  ending("done", "say that a task is done", "done", '$ kite task done 1a "four tables"', "what came of it");
  ending("fail", "say that a task has failed", "failed", '$ kite task fail 1a "no test server"', "why");
  ending("cancel", "end a task that nobody needs: it has failed", "failed", "$ kite task cancel 1a", "why");
  ending("retry", "let a failed or done task begin anew", "pending", "$ kite task retry 1a", null);
}

function addViews(task: Command): void {
  scoped(
    command(task, "list", "list tasks; of those that are done only how many", [
      "$ kite task list --label web",
    ]),
  )
    .addOption(new Option("--status <status>", "only those").choices(statuses))
    .option("--label <label>", "only those with this label")
    .option("--assignee <session>", "only those of this session, by its id")
    .option("--text <text>", "only those whose description or id has it in it")
    .option("--blocked", "only those that wait for others")
    .action(async (flags: ListFlags) => {
      const { list } = await import("../tasks/look.ts");
      await run(world => list(world, flags));
    });
  scoped(command(task, "ready", "list the tasks that can be claimed, the best first", ["$ kite task ready"]))
    .option("--label <label>", "only those with this label")
    .action(async (flags: ScopeFlags & { readonly label?: string }) => {
      const { ready } = await import("../tasks/look.ts");
      await run(world => ready(world, flags));
    });
  command(task, "show", "show everything about a task", ["$ kite task show 1a"])
    .argument("<task>")
    .action(async (name: string, { json }: JsonFlag) => {
      const { show } = await import("../tasks/look.ts");
      await run(world => show(world, name, json === true));
    });
  scoped(
    command(task, "graph", "draw what needs what", [
      "$ kite task graph",
      "$ kite task graph --mermaid > tasks.mmd",
    ]),
  )
    .option("--mermaid", "write it in Mermaid's language")
    .option("--open", "leave out what is done")
    .action(async (flags: GraphFlags) => {
      const { graph } = await import("../tasks/look.ts");
      await run(world => graph(world, flags));
    });
}

function addStore(task: Command): void {
  command(task, "import", "take in tasks from a tasks.json, keeping their ids", [
    "$ kite task import tasks.json",
  ])
    .argument("<file>", "a list of tasks, or an object with tasks by id; - for standard input")
    .option("--project <project>", "for tasks that name none, instead of the working directory's")
    .action(async (file: string, flags: JsonFlag & { readonly project?: string }) => {
      const { importTasks } = await import("../tasks/store.ts");
      await run(world => importTasks(world, file, flags));
    });
  scoped(command(task, "export", "write every task, as import reads them", ["$ kite task export tasks.json"]))
    .argument("[file]", "where to; without it, or with -, standard output")
    .action(async (file: string | undefined, flags: ScopeFlags) => {
      const { exportTasks } = await import("../tasks/store.ts");
      await run(world => exportTasks(world, file, flags));
    });
  scoped(command(task, "rm", "forget finished tasks", ["$ kite task rm 1a 1b", "$ kite task rm --finished"]))
    .argument("[tasks...]")
    .option("--finished", "all that are done or failed and that nothing unfinished needs")
    .action(async (names: readonly string[], flags: RemoveFlags) => {
      const { remove } = await import("../tasks/store.ts");
      await run(world => remove(world, names, flags));
    });
}

function command(task: Command, name: string, says: string, examples: readonly string[]): Command {
  const noun = examples.length === 1 ? "Example" : "Examples";
  return task
    .command(name)
    .description(says)
    .option("--json", "print one JSON object")
    .addHelpText("after", `\n${noun}:\n${examples.map(example => `  ${example}`).join("\n")}`);
}

function scoped(one: Command): Command {
  return one
    .option("--project <project>", "another project than that of the working directory")
    .option("--all-projects", "of all projects");
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

async function run(work: (world: ProcessContext) => Promise<number>): Promise<void> {
  const { processWorld } = await import("../process-context.ts");
  process.exitCode = await work(processWorld());
}
