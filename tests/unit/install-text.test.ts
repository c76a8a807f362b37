import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EventGroup, eventGroups } from "../../hooks/claude-code/settings/entries.ts";
import { addHooks, isEmpty, isOurs, removeHooks } from "../../hooks/install/hooks-text.ts";
import { parseText } from "../../hooks/install/json-text.ts";
import { limits } from "../../protocol/limits.ts";

const bin = "/home/ada/.kite/bin";
const groups = eventGroups({ program: `${bin}/hook.cjs`, node: `${bin}/node`, home: null });
const older: readonly EventGroup[] = [
  ["Stop", { hooks: [{ type: "command", command: `${bin}/hook`, args: ["800"], timeout: 2 }] }],
  ["Gone", { hooks: [{ type: "command", command: "/usr/bin/env", args: [`${bin}/hook.cjs`], timeout: 2 }] }],
];
const isKites = (entry: unknown) => isOurs(entry, bin);
const foreign = { hooks: [{ type: "command", command: "echo hi" }] };

const put = (text: string, before = null) => addHooks(text, groups, isKites, before);

/** Texts as people and programs leave them: any content, any indentation, line ends, final newline or none. */
const settings = fc
  .record({
    content: fc.dictionary(
      fc.oneof(fc.constantFrom("env", "permissions", "__proto__", 'a\\b\n"', "7"), fc.string()),
      fc.jsonValue(),
      { maxKeys: 5 },
    ),
    hooks: fc.option(
      fc.dictionary(
        fc.constantFrom("Stop", "PreToolUse", "SessionStart", "Notification"),
        fc.array(fc.constantFrom(foreign, { matcher: "Bash", ...foreign }, {}), { maxLength: 3 }),
      ),
      { nil: undefined },
    ),
    indent: fc.constantFrom("", " ", "  ", "    ", "\t"),
    eol: fc.constantFrom("\n", "\r\n"),
    tail: fc.constantFrom("", "\n", "\n\n", "  "),
    head: fc.constantFrom("", "\ufeff", "\n", " "),
  })
  .map(({ content, hooks, indent, eol, tail, head }) => {
    const { hooks: _, ...rest } = content;
    const whole = hooks === undefined ? rest : { ...rest, hooks };
    return head + JSON.stringify(whole, null, indent).replaceAll("\n", eol) + tail;
  });

/** A few of Kite's groups, in any order: all of them take so many edits that a run is five times as long. */
const few = fc.shuffledSubarray([...groups], { minLength: 1, maxLength: 5 });

const parsed = (text: string) => JSON.parse(text.replace(/^\ufeff/, ""));

describe("whatever the settings hold", () => {
  test("installing adds Kite's groups and nothing else; uninstalling brings every byte back", () => {
    fc.assert(
      fc.property(settings, few, (text, some) => {
        const { text: installed, created } = addHooks(text, some, isKites, null);
        const after = parsed(installed);
        const expected = parsed(text);
        expected.hooks ??= {};
        for (const [event, group] of some) expected.hooks[event] = [...(expected.hooks[event] ?? []), group];
        expect(after).toEqual(expected);
        expect(Object.keys(after).filter(k => k !== "hooks")).toEqual(
          Object.keys(parsed(text)).filter(k => k !== "hooks"),
        );
        const removed = removeHooks(installed, isKites, created);
        expect(parsed(removed)).toEqual(parsed(text));
        // Kite fills an empty list or object across lines; emptied again it is written as short as it can be.
        if (!/[{[]\s*[}\]]/.test(text)) expect(removed).toBe(text);
      }),
      { numRuns: 200, examples: [["{}", [...groups]]] },
    );
  });

  test("a second time changes nothing", () => {
    fc.assert(
      fc.property(settings, few, (text, some) => {
        const { text: once, created } = addHooks(text, some, isKites, null);
        expect(addHooks(once, some, isKites, created)).toEqual({ text: once, created });
      }),
    );
  });

  test("the hooks of an older Kite are replaced", () => {
    fc.assert(
      fc.property(settings, few, (text, some) => {
        const old = addHooks(text, older, isKites, null);
        const now = addHooks(old.text, some, isKites, old.created);
        expect(parsed(now.text)).toEqual(parsed(addHooks(text, some, isKites, null).text));
        expect(parsed(removeHooks(now.text, isKites, now.created))).toEqual(parsed(text));
      }),
    );
  });

  test("the scanner finds every value where it stands", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom("", "\t"), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const root = parseText(text);
        expect([root.start, root.end]).toEqual([0, text.length]);
        if (root.kind === "scalar") return;
        const children = root.children.map(c => JSON.parse(text.slice(c.value.start, c.value.end)));
        expect(children).toEqual(Object.values(JSON.parse(text)));
      }),
    );
  });
});

describe("what people have in their files", () => {
  test("indentation and neighbours are followed", () => {
    const text =
      '{\n\t"env": { "A": "1" },\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{ "hooks": [] }\n\t\t]\n\t}\n}';
    const [stop] = groups.filter(([event]) => event === "Stop");
    const only = stop === undefined ? [] : [stop];
    const installed = addHooks(text, only, isKites, null).text;
    expect(installed).toBe(
      `{\n\t"env": { "A": "1" },\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{ "hooks": [] },\n\t\t\t{\n\t\t\t\t"hooks": [\n\t\t\t\t\t${JSON.stringify(
        stop?.[1].hooks[0],
        null,
        "\t",
      ).replaceAll("\n", "\n\t\t\t\t\t")}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}`,
    );
    expect(removeHooks(installed, isKites, { hooks: false, events: [] })).toBe(text);
  });

  test("a file on one line stays on one line", () => {
    expect(put('{"env":{"A":"1"}}').text).not.toContain("\n");
  });

  test("entries of others in a group of ours stay, and the group with them", () => {
    const ours = groups[3]?.[1].hooks[0];
    const theirs = { type: "command", command: "echo mine" };
    const text = JSON.stringify(
      { hooks: { Stop: [{ hooks: [ours, theirs, ours] }, { hooks: [ours] }] } },
      null,
      2,
    );
    expect(JSON.parse(removeHooks(text, isKites, null))).toEqual({ hooks: { Stop: [{ hooks: [theirs] }] } });
  });

  test("an older entry gets its new text where it stands, so that no other one changes its place", () => {
    const list = [foreign, older[0]?.[1], { matcher: "Bash", ...foreign }];
    const text = JSON.stringify({ hooks: { Stop: list } }, null, 2);
    const [stop] = groups.filter(([event]) => event === "Stop");
    const { text: now } = addHooks(text, stop === undefined ? [] : [stop], isKites, null);
    expect(JSON.parse(now).hooks.Stop).toEqual([foreign, stop?.[1], { matcher: "Bash", ...foreign }]);
  });

  test("lists that were empty before stay, lists that Kite made go", () => {
    const text = '{\n  "hooks": {\n    "Stop": []\n  }\n}\n';
    const { text: installed, created } = put(text);
    expect(removeHooks(installed, isKites, created)).toBe(text);
    expect(removeHooks(installed, isKites, null)).toBe("{}\n");
    expect(isEmpty("{}\n")).toBe(true);
    expect(isEmpty(text)).toBe(false);
  });

  test("without hooks of Kite's nothing is touched", () => {
    for (const text of [
      '{"hooks":{"Stop":[]}}',
      "{ }",
      '{"hooks":{}}',
      '{"hooks":{"Stop":[{"hooks":[]}]}}',
    ]) {
      expect(removeHooks(text, isKites, null)).toBe(text);
    }
  });

  test.each([
    ["", "not valid JSON"],
    ["{", "not valid JSON"],
    ['{"a":1,}', "not valid JSON"],
    ['{"a":1} // mine', "not valid JSON"],
    ["[]", "does not hold a JSON object"],
    ["null", "does not hold a JSON object"],
    ['{"hooks":[]}', '"hooks" is not an object'],
    ['{"hooks":{"Stop":{}}}', '"hooks.Stop" is not a list'],
  ])("%j is refused", (text, why) => {
    expect(() => put(text)).toThrow(why);
  });
});

describe("the entries", () => {
  test("run without a shell, with a budget below the client's own limit", () => {
    for (const [, { hooks }] of groups) {
      for (const { command, args, timeout, asyncRewake } of hooks) {
        expect(command).toBe("/usr/bin/env");
        const [budget, ...more] = args.slice(6);
        expect(args.slice(0, 6)).toEqual([
          "-u",
          "NODE_EXTRA_CA_CERTS",
          "-u",
          "NODE_OPTIONS",
          `${bin}/node`,
          `${bin}/hook.cjs`,
        ]);
        expect(Number(budget)).toBeLessThan(timeout * 1000);
        expect(more).toEqual(asyncRewake ? ["wake"] : []);
      }
    }
  });

  test("a Stop has two: one that the client waits for, one that may wake it much later", () => {
    const stops = groups.filter(([event]) => event === "Stop").flatMap(([, { hooks }]) => hooks);
    expect(stops).toMatchObject([{ timeout: 3 }, { timeout: 14_410, asyncRewake: true }]);
    expect(stops[0]).not.toHaveProperty("asyncRewake");
    expect(groups.flatMap(([, { hooks }]) => hooks).filter(entry => entry.asyncRewake)).toHaveLength(1);
    expect(limits.wakeWaitMs).toBeLessThan(limits.wakeLeadMs);
    expect(limits.wakeLeadMs).toBeLessThan(limits.hookWakeBudgetMs);
    expect(limits.hookWakeBudgetMs + limits.firstByteMs).toBeLessThan(limits.hookWakeTimeoutMs);
  });

  test("an edit waits for its lock, then for its hook, then for the client", () => {
    const [, group] = groups.find(([event]) => event === "PreToolUse") ?? [];
    expect(group?.matcher).toBe("Edit|Write|NotebookEdit");
    expect(group?.hooks[0]).toMatchObject({ timeout: 75, statusMessage: "waiting for a file lock (kite)" });
    expect(limits.hookWaitMs).toBeLessThan(limits.hookWriteBudgetMs);
    expect(limits.hookWriteBudgetMs + limits.reconnectMs).toBeLessThan(limits.hookWriteTimeoutMs);
  });

  test("KITE_HOME is passed on where it was set", () => {
    const [, group] = eventGroups({ program: "/k/bin/hook.cjs", node: "/k/bin/node", home: "/k" })[0] ?? [];
    expect(group?.hooks[0]?.args.slice(4, 6)).toEqual(["KITE_HOME=/k", "/k/bin/node"]);
  });

  test("are known by their program", () => {
    expect(isOurs({ type: "command", command: `${bin}/hook`, args: ["52000"] }, bin)).toBe(true);
    for (const entry of [null, "x", {}, { command: 5, args: "x" }, { command: `echo ${bin}/hook.cjs` }]) {
      expect(isOurs(entry, bin)).toBe(false);
    }
  });
});
