/** Plain commands that name files: for which lines the real client starts a hook, and what comes of these. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { beforeEach, expect, test } from "vitest";
import { eventTable } from "../../hooks/claude-code/events.ts";
import type { Turn } from "./model.ts";
import { ordinaryLines } from "./ordinary-lines.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

/** The rules of plain commands, and the older ones, as the client's settings have them. */
const installers = ["Bash(*install*)", "Bash(* add *)", "Bash(* remove *)"];
const plain = ["Bash(rm *)", "Bash(mv *)", "Bash(sed -i*)", "Bash(*--write*)", ...installers];
const rules = eventTable.flatMap(({ registrations }) =>
  registrations.flatMap(({ matcher, if: rule }) => (matcher === "Bash" && rule !== undefined ? [rule] : [])),
);

let world: World;

beforeEach(() => () => world.dispose());

const bash = (id: string, command: string): Turn => call(id, "Bash", { command, description: "plain" });

/** The rules for which the client starts a process, for each line. No line runs. */
async function started(lines: readonly string[]): Promise<readonly (readonly string[])[]> {
  world = await World.create(programs, false);
  const log = world.path("started");
  const program =
    'my ($id) = /"tool_use_id":"(\\w+)"/; open my $f, ">>", shift @ARGV; syswrite $f, "$id RULE\\n"';
  const hooks = rules.map((rule, n) => ({
    type: "command",
    if: rule,
    command: "/usr/bin/perl",
    args: [
      "-e",
      `my $log = shift; local $/; $_ = <STDIN>; ${program.replace("shift @ARGV", "$log").replace("RULE", String(n))}`,
      log,
    ],
  }));
  const no = { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "not run" };
  const deny = { type: "command", command: "/bin/echo", args: [JSON.stringify({ hookSpecificOutput: no })] };
  const settings = { hooks: { PreToolUse: [{ matcher: "Bash", hooks: [deny, ...hooks] }] } };
  const script = [...lines.map((line, i) => bash(`toolu_${i}x`, line)), say("Done.")];
  const session = await world.session("rules", script, { settings, limitMs: 400_000 });
  expect(await session.ended).toBe(0);
  const text = existsSync(log) ? readFileSync(log, "utf8") : "";
  return lines.map((_, i) => rules.filter((_rule, n) => text.includes(`toolu_${i}x ${n}\n`)));
}

test("a rule of one word sees a command wherever the client reads it", async () => {
  const every = rules;
  const table: readonly (readonly [line: string, rules: readonly string[]])[] = [
    ["rm a.ts", ["Bash(rm *)"]],
    ["cd src && X=1 rm -f a.ts; ls", ["Bash(rm *)"]],
    ["(rm a.ts)", ["Bash(rm *)"]],
    ["ls | xargs rm", ["Bash(rm *)"]],
    ["[ -f a ] || mv a b", ["Bash(mv *)"]],
    ["sed -i s/a/b/ a.ts", ["Bash(sed -i*)"]],
    ["npx prettier --write a.ts", ["Bash(*--write*)"]],
    ["cd web && npm install", ["Bash(*install*)"]],
    ["npm uninstall x", ["Bash(*install*)"]],
    ["corepack pnpm add -D x", ["Bash(* add *)"]],
    ["uv remove x", ["Bash(* remove *)"]],
    ["git add a.ts", ["Bash(*git*)", "Bash(* add *)"]],
    // Not behind another program, nor by path.
    ["sudo rm a.ts", []],
    ["/bin/rm a.ts", []],
    ["ls | xargs -n1 rm", []],
    ["find . -name a -exec rm {} +", []],
    ["sed -E -i s/a/b/ a.ts", []],
    // No rule is for these.
    ["echo x | tee a.ts", []],
    ["truncate -s 0 a.ts", []],
    ["cp b.ts a.ts", []],
    ["cat b.ts > a.ts", []],
    ["perl -pi -e s/a/b/ a.ts", []],
    ["sed -n 1,20p a.ts", []],
    // The client reads the commands, and not the words.
    [
      "echo $X",
      ["Bash(*git*)", "Bash(*bash)", "Bash(bash -*)", "Bash(sed -i*)", "Bash(*--write*)", ...installers],
    ],
    // It reads nothing of these.
    ['for f in a b; do rm "$f"; done', every],
    ["ls {a,b}", every],
    ['rm -f "$A"', every],
    ["{ ls; }", every],
  ];
  const found = await started(table.map(([line]) => line));
  const sorted = (list: readonly string[]) => [...list].sort();
  for (const [i, [line, expected]] of table.entries())
    expect(sorted(found[i] ?? []), line).toEqual(sorted(expected));
});

test("a hundred ordinary lines start few processes", async () => {
  const found = await started(ordinaryLines);
  const count = (of: (rule: string) => boolean) => found.reduce((sum, all) => sum + all.filter(of).length, 0);
  expect({
    lines: ordinaryLines.length,
    withoutPlain: count(rule => !plain.includes(rule)),
    withPlain: count(() => true),
    linesWithoutPlain: found.filter(all => all.some(rule => !plain.includes(rule))).length,
    linesWithPlain: found.filter(all => all.length > 0).length,
  }).toEqual({ lines: 100, withoutPlain: 38, withPlain: 71, linesWithoutPlain: 20, linesWithPlain: 27 });
});

test("a session does not remove another one's work, and changes it in place as an edit would", async () => {
  world = await World.create(programs);
  for (const file of ["ann.txt", "bob.txt"]) world.write(file, `${file}\n`);
  const env = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
  const git = (...args: string[]) => execFileSync("git", [...who, ...args], { cwd: world.repository, env });
  git("add", "ann.txt", "bob.txt");
  git("commit", "-qm", "first");
  await world.up({ KITE_YIELD_MS: "500" });
  const [bobIsDone, annIsTold] = [new Moment(), new Moment()];
  const ann = await world.session("ann", [
    call("toolu_read", "Read", { file_path: world.path("ann.txt") }),
    call("toolu_ann", "Write", { file_path: world.path("ann.txt"), content: "ann's work\n" }),
    bobIsDone.before(call("toolu_more", "Write", { file_path: world.path("more.txt"), content: "more\n" })),
    annIsTold.before(say("Done.")),
  ]);
  await ann.asked(3);
  const bob = await world.session(
    "bob",
    [
      bash("toolu_rm", "rm -f ann.txt"),
      bash("toolu_xargs", "echo ann.txt | xargs rm"),
      bash("toolu_mv", "mv bob.txt ann.txt"),
      bash("toolu_sed", "sed -i s/work/lines/ ann.txt"),
      bash("toolu_own", "rm bob.txt && ls"),
      say("Done."),
    ],
    { settings: { permissions: { allow: ["Bash"] } } },
  );
  expect(await bob.ended).toBe(0);
  for (const id of ["toolu_rm", "toolu_xargs", "toolu_mv"]) {
    const { isError, text } = bob.model.result(id);
    expect(isError, id).toBe(true);
    expect(text, id).toContain("may wipe uncommitted work of another agent");
  }
  expect(bob.model.result("toolu_sed")).toMatchObject({ isError: false });
  expect(bob.model.result("toolu_own").isError).toBe(false);
  expect(world.read("ann.txt")).toBe("ann's lines\n");
  expect(existsSync(world.path("bob.txt"))).toBe(false);
  bobIsDone.reached();
  await ann.asked(4);
  expect(ann.model.notes.join("\n")).toContain("ann.txt");
  annIsTold.reached();
  expect(await ann.ended).toBe(0);
});
