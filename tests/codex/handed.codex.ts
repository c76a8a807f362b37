/**
 * A task that a lead of the real Claude Code hands to an agent of the real Codex: Kite opens a window for the agent in a worktree
 * of its own, the agent does the task, and the lead merges its branch.
 */
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LeadWorld } from "../claude/lead-world.ts";
import { hasTmux } from "../claude/panes.ts";
import { allGone, processesAt } from "../claude/processes.ts";
import { programs } from "../claude/programs.ts";
import { call, Moment, say } from "../claude/script.ts";
import { ScriptedModel, type Turn } from "../clients/model.ts";
import { change, codex, configure, patch } from "./codex.ts";

/** How long a person tries to answer. */
const answerMs = 60_000;

let all: LeadWorld;

beforeEach(async () => {
  all = await LeadWorld.create(programs, { files: { "shared.txt": "one\n" }, check: "! grep -q BAD *.txt" });
  symlinkSync(process.env["KITE_TEST_CODEX"] ?? "", join(all.home, "bin", "codex"));
});
afterEach(() => all.dispose());

const description = "Make shared.txt say two";
const kite = (id: string, tool: string, input: Readonly<Record<string, unknown>>): Turn => ({
  calls: [{ id, name: `mcp__kite__kite_${tool}`, input }],
});

test.skipIf(!hasTmux())(
  "Codex does the task that Claude Code hands to it, and Claude Code merges it",
  async () => {
    const model = await ScriptedModel.start(codex.wire, [
      { calls: [patch("call_edit", ...change("shared.txt", "one", "two"))] },
      { calls: [codex.line("call_commit", "git commit -qam two")] },
      kite("call_done", "task_complete", { task: "1", result: "it says two" }),
      { say: "Done." },
    ]);
    all.world.add({ dispose: () => model.close() });
    configure(join(all.home, ".codex"), model.url, all.world.repository);
    const isConnected = new Moment();
    const lead = await all.start(
      [
        isConnected.before(kite("toolu_task", "task_create", { tasks: [{ description }] })),
        kite("toolu_spawn", "spawn", { name: "cody", task: "1", client: "codex" }),
        say("It is at work."),
        call("toolu_merge", "Bash", { command: "kite merge cody", description: "Merge it" }),
        say("It is merged."),
      ],
      {},
    );
    const worktree = all.world.path(".claude/worktrees/cody");

    await all.step("a person connects Codex, and trusts its hooks", async () => {
      await lead.asked(1);
      const said = await all.kite("install", "--client", "codex", "--trust");
      expect(said).toContain("Codex trusts Kite's hooks");
      isConnected.reached();
    });

    await all.step("the lead makes a task, and spawns Codex with it", async () => {
      await lead.asked(3);
      const { isError, text } = lead.model.result("toolu_spawn");
      expect({ isError, text }).toEqual({
        isError: false,
        text: expect.stringMatching(/^Started "cody" \(\S+\);[^\n]*$/),
      });
    });

    await all.step("Codex begins with the task, works in its worktree, and ends the task", async () => {
      await model.asked(4);
      expect(model.text).toContain(`Do task 1: "${description}"`);
      expect(model.text).toContain('You are cody, an agent that the agent "lead" started with Kite.');
      const { session } = await all.agent("cody", ({ state }) => state === "idle");
      expect(await all.agent("cody", () => true)).toMatchObject({
        ...{ client: "codex", backend: "tmux", parent: { name: "lead" }, result: "it says two" },
        ...{ branch: "worktree-cody", worktree },
      });
      expect(await all.task("1", () => true)).toMatchObject({
        ...{ status: "done", assignee: session, assigneeName: "cody", result: "it says two" },
      });
      expect(model.surprises).toEqual([]);
      expect(all.world.read("shared.txt")).toBe("one\n");
      expect(await all.kite("status")).toMatch(
        /cody +cody\/ worktree-cody +idle +\S+ +codex, .*spawned by lead/,
      );
    });

    await all.step("the lead merges what Codex did", async () => {
      await lead.type("Merge it.");
      await lead.asked(5);
      const { isError, text } = lead.model.result("toolu_merge");
      expect(isError, text).toBe(false);
      expect(text).toMatch(/^merged +worktree-cody/m);
      expect(all.world.read("shared.txt")).toBe("two\n");
    });

    await all.step("the trail tells of each step", async () => {
      const { id } = await all.task("1", () => true);
      expect(await all.kite("explain", id)).toMatch(
        /lead created it[\s\S]*cody claimed it[\s\S]*cody finished it/,
      );
      expect(await all.kite("log")).toMatch(
        /allow +cody +apply_patch +\.claude\/worktrees\/cody\/shared\.txt/,
      );
    });

    await all.step("Codex's window is closed, and nothing is left", async () => {
      expect(await all.kite("stop", "cody")).toBe("cody: done\n");
      expect(await all.kite("agents", "prune")).toBe("removed cody\n");
      expect(existsSync(worktree)).toBe(false);
      expect(all.git("for-each-ref", "--format=%(refname:short)")).toBe("master\n");
      await lead.dispose();
      await allGone(all.home);
      expect(processesAt(all.home)).toEqual([]);
    });
  },
);

test.skipIf(!hasTmux())(
  "where nobody trusts Kite's hooks yet, the lead is told, and Codex begins when a person answers in its window",
  async () => {
    const model = await ScriptedModel.start(codex.wire, [{ say: "Done." }]);
    all.world.add({ dispose: () => model.close() });
    configure(join(all.home, ".codex"), model.url, all.world.repository);
    const isConnected = new Moment();
    const lead = await all.start(
      [
        isConnected.before(kite("toolu_spawn", "spawn", { name: "cody", prompt: "Do it.", client: "codex" })),
        say("It asks."),
      ],
      {},
    );
    await lead.asked(1);
    await all.kite("install", "--client", "codex");
    isConnected.reached();
    await lead.asked(2);
    expect(lead.model.result("toolu_spawn").text).toContain(
      "Tell your user: codex does not trust Kite's hooks yet",
    );
    const window = all.attach("cody");
    await all.step("a person answers in the window", async () => {
      await window.shows("confirm");
      // The client reads no keys yet while it asks its terminal what that can do.
      const choose = () => {
        window.type("2");
        return all.kite("explain", "cody", "--log");
      };
      await expect.poll(choose, { timeout: answerMs }).toContain("› 2. Trust all");
      window.type("\r");
    });
    await all.step("Codex begins, and is the agent", async () => {
      const { session } = await all.agent("cody", ({ state }) => state === "idle");
      expect((await all.world.status()).sessions).toContainEqual(
        expect.objectContaining({ id: session, name: "cody", client: "codex" }),
      );
    });
    await window.close();
    expect(model.surprises).toEqual([]);
  },
);
