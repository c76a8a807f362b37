/** `kite task` plans work: tasks that sessions claim, finish and build on. */

import { type Command, Option } from "commander";
import { riskReasons, risks } from "../../protocol/names.ts";
import type { TaskPriority, TaskStatus } from "../../protocol/schemas/task.ts";
import type { Run } from "../context/process-context.ts";
import { fail } from "../context/with-daemon.ts";
import { subcommand } from "../entry.ts";
import { teamImport } from "../leading.ts";
import {
  type AddFlags,
  add as addTask,
  approve,
  type ClaimFlags,
  claim,
  type EditFlags,
  type Ending,
  edit,
  release,
  set,
  type TaskFlags,
} from "./change.ts";
import { importTasks } from "./import.ts";
import {
  exportTasks,
  type GraphFlags,
  graph,
  type ListFlags,
  list,
  type RemoveFlags,
  ready,
  remove,
  type ScopeFlags,
  show,
} from "./look.ts";

const whichImport = "give either a file or --from-team; see kite task import --help";

const overview = `
Name a task of this project by its number (12; in a script also '#12'), or by its id, as --json shows it, or the beginning
of that. A task of another project needs its whole id, or --project.
The command acts for the session in KITE_SESSION or CLAUDE_CODE_SESSION_ID (its agent in KITE_AGENT), else for you at
this terminal. Tasks belong to the project of the working directory.

A task is ready when every task that it needs is done. A claim ends with its session. The command ends when the change
is safe on disk.

What makes a task so (--risk; without a word it is green):
${risks.map(one => `  ${one.padEnd(8)}  ${riskReasons[one]}`).join("\n")}
Which of these an agent claims depends on its role (kite role). Red and
critical tasks run one at a time in a project. A red one begins while a lead is alive or after your yes, a critical one
after your yes (kite task approve). A ready task that nobody can claim now says why.

kite task list without filters also shows the tasks of Claude Code's own lists. Nobody can claim these here.

--json: commands that change a task print {"ok":true, "task":{...}}, lists {"tasks":[...]} with rows as \`query\` gives
them, and list without filters "clientTasks", too; a refusal {"ok":false, "code", "error", ...}.

Exit codes: 0 done, 1 refused or failed, 3 no daemon runs.

Examples:
  $ kite task add "Write the schema" --priority high
  $ kite task add "Build the API" --needs 1
  $ kite task claim
  $ kite task done 1 "four tables"
  $ kite task graph`;

const priorities: readonly TaskPriority[] = ["low", "normal", "high"];
const statuses: readonly TaskStatus[] = ["pending", "active", "done", "failed"];

const otherProject = "another project than that of the working directory";

interface JsonFlag {
  readonly json?: boolean;
}

interface ImportFlags extends JsonFlag {
  readonly project?: string;
  readonly fromTeam?: string | true;
}

export function add(task: Command, run: Run): void {
  task.addHelpText("after", overview);
  addChanges(task, run);
  addEnds(task, run);
  addViews(task, run);
  addStore(task, run);
}

function addChanges(task: Command, run: Run): void {
  subcommand(task, "add", "add a task", ['$ kite task add "Build the API" --needs 1 --label web'])
    .argument("<description...>", "what the task is")
    .addOption(new Option("--priority <priority>", "how urgent").choices(priorities))
    .option("--label <label>", "tag it, once or more", collect, [])
    .option("--needs <task>", "a task that must be done first, once or more", collect, [])
    .option("--debate <debate>", "the debate that it requires")
    .addOption(new Option("--risk <risk>", "the care that it needs").choices(risks))
    .option("--project <project>", otherProject)
    .action((words: readonly string[], flags: AddFlags) =>
      run(world => addTask(world, words.join(" "), flags)),
    );
  subcommand(task, "edit", "change a task", ["$ kite task edit 12 --risk red"])
    .argument("<task>")
    .option("--description <text>", "what the task is")
    .addOption(new Option("--priority <priority>", "how urgent").choices(priorities))
    .option("--label <label>", "its labels, once or more, instead of those before", collect, [])
    .option("--needs <task>", "what must be done first, once or more, instead of before", collect, [])
    .addOption(
      new Option(
        "--risk <risk>",
        "the care that it needs: anybody raises it, a lead or you lower it",
      ).choices(risks),
    )
    .option("--project <project>", otherProject)
    .action((name: string, flags: EditFlags) => run(world => edit(world, name, flags)));
  subcommand(task, "approve", "say yes to the next run of a red or critical task; only a person may", [
    "$ kite task approve 12",
  ])
    .argument("<task>")
    .option("--project <project>", otherProject)
    .action((name: string, flags: TaskFlags) => run(world => approve(world, name, flags)));
  subcommand(task, "claim", "claim the most urgent ready task that your role takes, or the named one", [
    "$ kite task claim",
    "$ kite task claim --label web",
    "$ kite task claim 12",
  ])
    .argument("[task]", "the task; by default the most urgent ready one, the oldest of these")
    .option("--label <label>", "only a task with this label, once or more", collect, [])
    .option("--project <project>", otherProject)
    .action((name: string | undefined, flags: ClaimFlags) => run(world => claim(world, name, flags)));
  subcommand(task, "release", "give a claimed task back", ["$ kite task release 12"])
    .argument("<task>")
    .option("--project <project>", otherProject)
    .action((name: string, flags: TaskFlags) => run(world => release(world, name, flags)));
}

function addEnds(task: Command, run: Run): void {
  const ending = (name: string, says: string, status: Ending, example: string, words: string | null) => {
    const one = subcommand(task, name, says, [example]).argument("<task>");
    if (words !== null) one.argument("[words...]", words);
    one.option("--project <project>", otherProject);
    one.action(async (of: string, ...rest: readonly unknown[]) => {
      const reason = Array.isArray(rest[0]) ? rest[0].join(" ") : "";
      const result = name === "cancel" ? `cancelled${reason === "" ? "" : `: ${reason}`}` : reason || null;
      await run(world => set(world, of, status, result, one.opts<TaskFlags>()));
    });
  };
  ending("done", "say that a task is done", "done", '$ kite task done 12 "four tables"', "the result");
  ending("fail", "say that a task has failed", "failed", '$ kite task fail 12 "no test server"', "why");
  ending("cancel", "mark an unneeded task as failed", "failed", "$ kite task cancel 12", "why");
  ending("retry", "make a failed or done task pending again", "pending", "$ kite task retry 12", null);
}

function addViews(task: Command, run: Run): void {
  scoped(
    subcommand(task, "list", "list tasks; of done tasks only the number", ["$ kite task list --label web"]),
  )
    .addOption(
      new Option("--status <status>", "only tasks with this status").choices([
        ...statuses,
        "ready",
        "blocked",
      ]),
    )
    .option("--all", "the done tasks, too")
    .option("--label <label>", "only tasks with this label")
    .option("--assignee <session>", "only tasks of this session, by its id")
    .option("--text <text>", "only tasks whose description or id contains this text")
    .option("--blocked", "only tasks that wait for other tasks")
    .action((flags: ListFlags) => run(world => list(world, flags)));
  scoped(subcommand(task, "ready", "list the ready tasks, the most urgent first", ["$ kite task ready"]))
    .option("--label <label>", "only tasks with this label")
    .action((flags: ScopeFlags & { readonly label?: string }) => run(world => ready(world, flags)));
  subcommand(task, "show", "show everything about a task", ["$ kite task show 12"])
    .argument("<task>")
    .option("--project <project>", otherProject)
    .action((name: string, flags: ScopeFlags) => run(world => show(world, name, flags)));
  scoped(
    subcommand(task, "graph", "draw the tasks and their needs", [
      "$ kite task graph",
      "$ kite task graph --mermaid > tasks.mmd",
    ]),
  )
    .option("--mermaid", "write it in Mermaid's language")
    .option("--open", "leave out done tasks")
    .action((flags: GraphFlags) => run(world => graph(world, flags)));
}

function addStore(task: Command, run: Run): void {
  subcommand(task, "import", "import tasks from a tasks.json, keeping their ids, or from a team", [
    "$ kite task import tasks.json",
    "$ kite task import --from-team",
  ])
    .argument("[file]", "a list of tasks, or an object with tasks by id; - for standard input")
    .option("--project <project>", "for tasks that name no project; by default the working directory's")
    .option(
      "--from-team [name]",
      "the open tasks of Claude Code's own list, each once; by default the project's team",
    )
    .action(async (file: string | undefined, flags: ImportFlags) => {
      const { fromTeam } = flags;
      if ((file === undefined) === (fromTeam === undefined))
        return run(async world => fail(world, flags.json === true, "usage", whichImport));
      if (file !== undefined) return run(world => importTasks(world, file, flags));
      const { importTeam } = await teamImport();
      const name = typeof fromTeam === "string" ? fromTeam : undefined;
      await run(world => importTeam(world, name, flags));
    });
  scoped(
    subcommand(task, "export", "write every task in the form that import reads", [
      "$ kite task export tasks.json",
    ]),
  )
    .argument("[file]", "the file to write; by default, or with -, standard output")
    .action((file: string | undefined, flags: ScopeFlags) => run(world => exportTasks(world, file, flags)));
  scoped(
    subcommand(task, "rm", "delete finished tasks", ["$ kite task rm 12 13", "$ kite task rm --finished"]),
  )
    .argument("[tasks...]")
    .option("--finished", "every done or failed task that no unfinished task needs")
    .action((names: readonly string[], flags: RemoveFlags) => run(world => remove(world, names, flags)));
}

function scoped(one: Command): Command {
  return one.option("--project <project>", otherProject).option("--all-projects", "tasks of all projects");
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
