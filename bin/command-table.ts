/** The commands of `kite`. */

import type { Commands } from "./entry.ts";
import { lock, status, task } from "./frequent-commands.ts";

/** Every command, in the order of the manual page. `run` loads only the file of the command that it runs. */
export const commands: Commands = {
  demo: {
    description: "watch four simulated sessions share two files",
    load: () => import("./commands/demo.ts"),
  },
  up: {
    description: "start the daemon, unless it already runs",
    load: () => import("./commands/daemon.ts"),
  },
  down: {
    description: "stop the daemon, and keep hooks from starting it",
    load: () => import("./commands/daemon.ts").then(all => ({ ...all, add: all.addDown })),
  },
  status,
  watch: {
    description: "show sessions, locks, tasks and events, live",
    load: () => import("./watch/watch.ts"),
  },
  web: {
    description: "show sessions, locks, tasks and events on a page of your browser, live",
    load: () => import("./web/web.ts"),
  },
  go: {
    description: "go to the terminal in which an agent runs: its pane of tmux, or where else it is",
    load: () => import("./agents/go.ts"),
  },
  agent: {
    description: "show one agent: what it declared, holds, waits for and works on",
    hidden: true,
    load: () => import("./agents/agents.ts"),
  },
  spawn: {
    description: "start an agent in a worktree of its own",
    load: () => import("./lead/spawn/spawn.ts"),
    acts: true,
  },
  agents: {
    description: "list the spawned agents, or remove what ended ones left",
    load: () => import("./lead/spawn/agents.ts"),
    acts: true,
  },
  whose: {
    description: "show which session's uncommitted work is in which file",
    load: () => import("./diff/whose.ts"),
  },
  history: {
    description: "list the versions that Kite keeps of a file: who wrote what when",
    load: () => import("./rescue/history.ts"),
    acts: true,
  },
  diff: {
    description: "show what is not committed, by writer, or what changed between versions",
    load: () => import("./diff/diff.ts"),
    acts: true,
  },
  commit: {
    description: "commit your own lines of a shared checkout, and nobody else's",
    load: () => import("./own/commit.ts"),
    acts: true,
  },
  undo: {
    description: "take changes of a file back, and keep what others wrote since",
    load: () => import("./rescue/undo.ts"),
    acts: true,
  },
  rescue: {
    description: "list what was wiped lately, and bring it back",
    load: () => import("./rescue/rescue.ts"),
    acts: true,
  },
  lock,
  unlock: {
    description: "release locks",
    load: () => import("./commands/unlock.ts"),
    acts: true,
  },
  team: {
    description: "show Claude Code's teams: members, tasks, and what is wrong",
    load: () => import("./lead/team.ts"),
  },
  task,
  rename: {
    description: "give a session another name",
    load: () => import("./agents/agents.ts").then(all => ({ ...all, add: all.addRename })),
  },
  role: {
    description: "list the roles of the agents, or give one a role",
    load: () => import("./lead/roles.ts"),
    acts: true,
  },
  declare: {
    description: "say what you are about to do: task, plan, files, open questions",
    load: () => import("./agents/declare-command.ts"),
    acts: true,
  },
  debate: {
    description: "challenge rival hypotheses before one is chosen",
    load: () => import("./lead/debates.ts"),
    acts: true,
  },
  context: {
    description: "share small values with the sessions of a project",
    load: () => import("./agents/messages.ts").then(all => ({ ...all, add: all.addContext })),
    acts: true,
  },
  message: {
    description: "send messages to other sessions, and read yours",
    load: () => import("./agents/messages.ts"),
    acts: true,
  },
  freeze: {
    description: "keep other sessions from editing files for a while",
    load: () => import("./agents/messages.ts").then(all => ({ ...all, add: all.addFreeze })),
    acts: true,
  },
  release: {
    description: "give back what an agent has that stalled, or a file that somebody holds",
    load: () => import("./lead/release.ts"),
    readsSession: true,
  },
  thaw: {
    description: "end freezes: other sessions may edit the files again",
    load: () => import("./agents/messages.ts").then(all => ({ ...all, add: all.addThaw })),
    acts: true,
  },
  check: {
    description: "run the project's checks, and keep the results for this state",
    load: () => import("./lead/check.ts"),
    acts: true,
  },
  merge: {
    description: "merge finished branches one after the other, each checked first",
    load: () => import("./lead/merge/merge.ts"),
    acts: true,
  },
  notify: {
    description: "show a desktop notice when somebody needs you, waits for long, or lost work",
    load: () => import("./watch/notify.ts"),
  },
  log: {
    description: "show each decision, and its reason",
    load: () => import("./trail/log.ts"),
  },
  risk: {
    description: "show which files of live branches would conflict if merged today",
    load: () => import("./diff/risk.ts"),
  },
  explain: {
    description: "say who has a file, what an agent waits for or what blocks a task, and why",
    load: () => import("./commands/explain.ts"),
  },
  stats: {
    description: "count decisions, waits and denials, and time hooks",
    load: () => import("./trail/stats.ts"),
  },
  report: {
    description: "sum up what Kite did: waits, denials, collisions, work kept, costs",
    load: () => import("./trail/report.ts"),
  },
  doctor: {
    description: "check the installation, and say what to do",
    load: async () => {
      const [{ addDoctor }, { clients }] = await Promise.all([
        import("./doctor/doctor.ts"),
        import("./install/clients.ts"),
      ]);
      return { add: (command, run) => addDoctor(command, run, clients) };
    },
  },
  repair: {
    description: "save what a damaged journal still holds",
    load: () => import("./doctor/repair.ts"),
  },
  config: {
    description: "show each setting and its source, or change one",
    load: () => import("./settings/config.ts"),
  },
  store: {
    description: "share tasks, messages and context with other machines through a PostgreSQL",
    load: () => import("./commands/store.ts"),
  },
  install: {
    description: "connect your agents to Kite",
    load: () => import("./install/install.ts"),
  },
  uninstall: {
    description: "undo kite install",
    load: () => import("./install/uninstall.ts"),
  },
  plugin: {
    description: "make a Claude Code plugin of Kite in a folder",
    load: () => import("./install/plugin.ts"),
  },
  instructions: {
    description: "print what AGENTS.md should say for an agent without hooks",
    load: () => import("./commands/mcp.ts").then(all => ({ ...all, add: all.addInstructions })),
  },
  statusline: {
    description: "print one line for Claude Code's status line",
    load: () => import("./commands/statusline.ts"),
  },
  completion: {
    description: "print the script with which a shell completes kite's command line",
    load: () => import("./commands/completion.ts"),
  },
  update: {
    description: "show which parts of Kite are older than this program, and how to update them",
    load: () => import("./install/update.ts"),
  },
  man: { description: "print Kite's manual page", load: () => import("./commands/man.ts") },
  complete: {
    description: "list the words that complete a command line",
    load: () => import("./commands/complete.ts"),
    hidden: true,
  },
  "commit-check": {
    description: "say whether another agent has a file of the commit that git is about to make",
    load: () => import("./diff/commit-check.ts"),
    hidden: true,
  },
  mcp: { description: "serve Kite's tools to an agent (MCP)", load: () => import("./commands/mcp.ts") },
  off: {
    description: "let every edit through for a while",
    load: () => import("./settings/off.ts"),
    readsSession: true,
  },
  on: {
    description: "undo kite off",
    load: () => import("./settings/off.ts").then(all => ({ ...all, add: all.addOn })),
  },
};
