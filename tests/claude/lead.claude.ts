/**
 * The whole of it: a lead of the real client plans six tasks and starts three agents in worktrees. One agent is killed, one
 * is stopped, one asks for permission, and two change the same file. All six tasks end in the base, and nothing is left behind.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LeadWorld } from "./lead-world.ts";
import type { Turn } from "./model.ts";
import { hasTmux } from "./panes.ts";
import { allGone, gone, processesAt } from "./processes.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";

const wholeMs = 300_000;
const middle = ["1", "2", "3", "4", "5", "6", "7"].join("\n");

let all: LeadWorld;

beforeEach(async () => {
  const files = { "shared.txt": `${middle}\n` };
  all = await LeadWorld.create(programs, { files, check: "! grep -q '[<=>][<=>][<=>]' *.txt" });
});
afterEach(() => all.dispose());

/** `schema` to `release` get the numbers 1 to 6. */
const tasks = [
  { name: "schema", description: "Write the schema" },
  { name: "limits", description: "Put the limits at the top of shared.txt" },
  { name: "defaults", description: "Put the defaults at the end of shared.txt" },
  { name: "api", description: "Write the API", dependsOn: ["schema"] },
  { name: "notes", description: "Write the notes", dependsOn: ["schema", "limits"] },
  { name: "release", description: "Write the release", dependsOn: ["defaults", "api", "notes"] },
];

const kite = (id: string, tool: string, input: Readonly<Record<string, unknown>>) =>
  call(id, `mcp__kite__kite_${tool}`, input);
const bash = (id: string, command: string) => call(id, "Bash", { command, description: "Do it" });
const spawn = (name: string, task: string) =>
  kite(`toolu_spawn_${name}`, "spawn", { name, task, prompt: `[[agent:${name}]] Do your tasks.` });

/** In a window of tmux if there is one, by the command; else like the others. */
const spawnInWindow = (name: string, task: string) =>
  hasTmux()
    ? bash(
        `toolu_spawn_${name}`,
        `kite spawn '[[agent:${name}]] Do your tasks.' --name ${name} --task ${task} --tmux`,
      )
    : spawn(name, task);

/** The turns of one agent, in its own worktree. */
function turnsOf(agent: string) {
  const at = (file: string) => all.world.path(`.claude/worktrees/${agent}/${file}`);
  return {
    claim: (task: string) => kite(`toolu_claim_${task}`, "task_claim", { task }),
    read: (file: string) => call(`toolu_read_${agent}_${file}`, "Read", { file_path: at(file) }),
    write: (file: string, content: string) =>
      call(`toolu_write_${agent}_${file}`, "Write", { file_path: at(file), content }),
    commit: (file: string) =>
      bash(`toolu_commit_${agent}_${file}`, `git add ${file} && git commit -qm ${file}`),
    complete: (task: string, result: string) =>
      kite(`toolu_complete_${task}`, "task_complete", { task, result }),
  };
}

/** A turn that the model thinks about until the tasks are done. */
async function after(numbers: readonly string[], turn: Turn): Promise<Turn> {
  for (const number of numbers) await all.task(number, ({ status }) => status === "done");
  return turn;
}

test("three agents do six tasks for a lead, over a kill, a stop and a question", {
  timeout: wholeMs,
}, async () => {
  const [annIsBack, bobGoesOn] = [new Moment(), new Moment()];
  const [ann, bob, cy] = [turnsOf("ann"), turnsOf("bob"), turnsOf("cy")];
  const lead = await all.start(
    [
      kite("toolu_plan", "task_create", { tasks }),
      spawn("ann", "1"),
      spawn("bob", "2"),
      spawnInWindow("cy", "3"),
      say("They are at work."),
      // Kite wakes a lead that rests when an agent of it stalls: here the one that is stopped.
      say("One is stopped; a person has to continue it."),
      bash("toolu_merge", "kite merge cy bob ann"),
      say("All is merged."),
    ],
    {
      ann: [
        ann.write("schema.txt", "schema\n"),
        annIsBack.before(say("Nobody hears this: the process is killed.")),
        ann.commit("schema.txt"),
        ann.complete("1", "the schema is there"),
        ann.claim("4"),
        ann.write("api.txt", "api\n"),
        ann.commit("api.txt"),
        ann.complete("4", "the API is there"),
        say("Done."),
      ],
      bob: [
        bob.read("shared.txt"),
        bob.write("shared.txt", `limits\n${middle}\n`),
        bobGoesOn.before(bob.commit("shared.txt")),
        bob.complete("2", "the limits are there"),
        after(["1", "2"], bob.claim("5")),
        bob.write("notes.txt", "notes\n"),
        bob.commit("notes.txt"),
        bob.complete("5", "the notes are there"),
        say("Done."),
      ],
      cy: [
        bash("toolu_ask", "node --eval 1"),
        cy.read("shared.txt"),
        cy.write("shared.txt", `${middle}\ndefaults\n`),
        cy.commit("shared.txt"),
        cy.complete("3", "the defaults are there"),
        after(["3", "4", "5"], cy.claim("6")),
        cy.write("release.txt", "release\n"),
        cy.commit("release.txt"),
        cy.complete("6", "it is released"),
        say("Done."),
      ],
    },
  );
  const { model } = lead;

  await all.step("the lead plans six tasks, starts three agents and rests", async () => {
    await model.asked(5);
    for (const name of ["ann", "bob", "cy"])
      expect(model.result(`toolu_spawn_${name}`)).toMatchObject({ isError: false });
  });

  await all.step("each agent has its task and a worktree of its own", async () => {
    await Promise.all([model.asked(2, "ann"), model.asked(3, "bob"), model.asked(1, "cy")]);
    for (const [name, number] of Object.entries({ ann: "1", bob: "2", cy: "3" })) {
      const { session, worktree } = await all.agent(name, ({ state }) => state !== "starting");
      expect(worktree).toBe(all.world.path(`.claude/worktrees/${name}`));
      expect(await all.task(number, ({ status }) => status === "active")).toMatchObject({
        assignee: session,
      });
    }
    const backend = hasTmux() ? "tmux" : "background";
    expect(await all.agent("cy", () => true)).toMatchObject({ backend });
  });

  await all.step("cy asks for permission, and is shown as needing a person", async () => {
    await all.agent("cy", ({ state }) => state === "waits_on_person");
    expect(await all.kite("agents")).toMatch(/^cy +waits on person/m);
    expect(await all.kite("status")).toMatch(/cy .* needs you[\s\S]*permission for Bash/);
  });

  await all.step("ann is killed: her task can be claimed again", async () => {
    process.kill(await all.process("ann"), "SIGKILL");
    const { reason } = await all.agent("ann", ({ state }) => state === "failed");
    expect(reason).toMatch(/^its process ended, and t-\S+-1 is not done$/);
    expect(await all.task("1", ({ status }) => status === "pending")).toMatchObject({ attempts: 1 });
  });

  const bobsProcess = await all.process("bob");
  await all.step("bob is stopped: it is shown and told, and his task stays his", async () => {
    process.kill(bobsProcess, "SIGSTOP");
    await all.event(
      one => one.event === "agent_stalled" && one.agent.name === "bob" && one.state === "stopped",
    );
    expect(await all.kite("status")).toMatch(new RegExp(`bob .* stopped[\\s\\S]*kill -CONT ${bobsProcess}`));
    await all.task("2", ({ status, assigneeName }) => status === "active" && assigneeName === "bob");
  });

  await all.step("a person answers cy, who then writes the file that bob has changed", async () => {
    const terminal = all.attach("cy");
    await terminal.shows("proceed?");
    terminal.type("\r");
    await model.asked(2, "cy");
    await terminal.close();
    expect(model.result("toolu_ask")).toMatchObject({ isError: false });
    const risk = await all.event(one => one.event === "merge_risk");
    expect(risk).toMatchObject({ file: "shared.txt", sides: [{ name: "bob" }, { name: "cy" }] });
  });

  await all.step("bob is continued and finishes his task", async () => {
    process.kill(bobsProcess, "SIGCONT");
    bobGoesOn.reached();
    await all.task("2", ({ status }) => status === "done");
  });

  await all.step("ann comes back by herself, has her task again, and finds her work", async () => {
    const { session } = await all.agent("ann", ({ attempts }) => attempts === 2);
    annIsBack.reached();
    expect(await all.task("1", ({ status }) => status !== "pending")).toMatchObject({ assignee: session });
    expect(await all.task("1", ({ status }) => status === "done")).toMatchObject({ attempts: 1 });
  });

  await all.step("all six tasks get done, each after what it needs", async () => {
    for (const number of ["4", "5", "6"]) await all.task(number, ({ status }) => status === "done");
    for (const name of ["ann", "bob", "cy"]) await all.agent(name, ({ state }) => state === "idle");
  });

  await all.step("the lead merges what they did, in the order of their tasks", async () => {
    // It was woken once, when one of its agents stalled.
    await model.asked(6);
    await lead.type("Merge it.");
    await model.asked(8);
    const { isError, text } = model.result("toolu_merge");
    expect(isError).toBe(false);
    const merged = [...text.matchAll(/^merged +worktree-(\w+)/gm)].map(([, name]) => name);
    expect(merged).toEqual(["ann", "bob", "cy"]);
    expect(text).toContain("check words");
  });

  await all.step("the base has the lines of all six tasks", async () => {
    const lines = { schema: "schema.txt", api: "api.txt", notes: "notes.txt", release: "release.txt" };
    for (const [line, file] of Object.entries(lines)) expect(all.world.read(file)).toBe(`${line}\n`);
    expect(all.world.read("shared.txt")).toBe(`limits\n${middle}\ndefaults\n`);
    expect(await all.kite("check")).toContain("green");
  });

  await all.step("the trail tells of each step", async () => {
    const lines = (await all.trail()).map(({ name, event, why = "" }) => `${name}, ${event}: ${why}`);
    const told = [
      /^lead, task_create: t-\S+-1 pending, .* t-\S+-6 pending$/,
      ...["ann", "bob", "cy"].map(
        name => new RegExp(`^${name}, spawn_changed: spawned agent ${name} .*: running$`),
      ),
      ...["ann", "bob", "cy"].map(name => new RegExp(`^${name}, task_claimed: it was spawned for t-`)),
      /^cy, spawn_changed: .* waits on person$/,
      /^ann, task_released: its process ended, t-\S+-1 can be claimed again$/,
      /^ann, spawn_changed: .*: failed$/,
      /^bob, health: bob: stopped for /,
      /^bob, health: bob: a sign of life$/,
      /^bob, merge_risk: bob has work in it in .*, cy in /,
      /^ann, spawn_changed: .*: idle$/,
      ...[1, 2, 3, 4, 5, 6].map(number => new RegExp(`, task_update: t-\\S+-${number} done$`)),
      ...["ann", "bob", "cy"].map(
        name => new RegExp(`^lead, merge_changed: .* worktree-${name} into master: merged`),
      ),
    ];
    for (const line of told) expect(lines, String(line)).toContainEqual(expect.stringMatching(line));
    const { id } = await all.task("1", () => true);
    expect(await all.kite("explain", id)).toMatch(
      /lead created it[\s\S]*ann claimed it[\s\S]*ann lost it: its process ended[\s\S]*ann claimed it[\s\S]*ann finished it/,
    );
  });

  await all.step("work that nobody committed is kept, all else of the agents is removed", async () => {
    for (const name of ["ann", "bob", "cy"]) expect(await all.kite("stop", name)).toBe(`${name}: done\n`);
    const late = all.world.path(".claude/worktrees/ann/late.txt");
    writeFileSync(late, "late\n");
    expect(await all.kite("agents", "prune")).toMatch(/^removed bob\nremoved cy\nkept {4}ann: .*uncommitted/);
    rmSync(late);
    expect(await all.kite("agents", "prune")).toBe("removed ann\n");
    expect(all.git("worktree", "list", "--porcelain").match(/^worktree /gm)).toHaveLength(1);
    expect(all.git("for-each-ref", "--format=%(refname:short)")).toBe("master\n");
    expect(await all.kite("agents")).toBe("No spawned agents.\n");
  });

  await all.step("the lead leaves and the daemon stops: nothing is left", async () => {
    await lead.dispose();
    // The client's service and the server of tmux are among these.
    await allGone(all.home);
    expect(processesAt(all.home)).toEqual([]);
    const { world } = all;
    const { pid } = JSON.parse(await world.kite("down", "--json"));
    await gone(pid);
    expect(existsSync(world.paths.socket)).toBe(false);
    expect(readdirSync(join(world.paths.home, "merges"))).toEqual([]);
    expect(readdirSync(world.path(".claude/worktrees"))).toEqual([]);
    expect(all.git("status", "--short")).toBe("");
  });
});
