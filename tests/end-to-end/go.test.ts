/** kite go: to a pane of tmux, and what it says of an agent that is elsewhere. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "./daemon.ts";
import { kiteProgram } from "./kite.ts";

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
let home: Home;

beforeEach(async () => {
  home = new Home();
  await home.start();
});
afterEach(async () => {
  if (hasTmux) spawnSync("tmux", ["kill-server"], { env: environment() });
  await home.dispose();
});

/** With a tmux server of this home alone. */
function environment(): Record<string, string> {
  return { ...home.environment, TMUX_TMPDIR: home.root, TERM: "xterm", SHELL: "/bin/sh" };
}

function tmux(...words: readonly string[]): string {
  return execFileSync("tmux", ["-f", "/dev/null", ...words], {
    env: environment(),
    encoding: "utf8",
  }).trim();
}

/** Begins a session whose process runs in a pane that is not shown. Returns the pane. */
async function agentInPane(name: string): Promise<string> {
  const format = "#{pane_id} #{pane_pid}";
  tmux("new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "exec sleep 1000");
  const line = tmux("new-window", "-d", "-P", "-F", format, "-t", "main:", "exec sleep 1000");
  const [pane = "", pid] = line.split(" ");
  await home.session(name, { pid: Number(pid) });
  return pane;
}

/** Resolves once tmux has said that a client has come. */
async function attached(): Promise<void> {
  tmux("set-hook", "-g", "client-attached", "wait-for -S attached");
  const line = "stty cols 80 rows 24; exec tmux attach -t main:0";
  home.adopt(
    spawn("script", ["-qfec", line, "/dev/null"], {
      env: environment(),
      stdio: ["pipe", "ignore", "inherit"],
    }),
  );
  tmux("wait-for", "attached");
}

/** Without tmux there is no pane to go to, and Kite says where the agent's process is. */
async function goesNowhere(): Promise<void> {
  const { pid } = await home.bystander();
  await home.session("alice", { pid });
  expect((await home.command(["go", "alice"])).out).toContain(`process ${pid}`);
}

test("shows the pane to a person in the same tmux", async () => {
  if (!hasTmux) return goesNowhere();
  const pane = await agentInPane("alice");
  await attached();
  const shown = () => tmux("list-clients", "-F", "#{pane_id}");
  expect(shown()).not.toBe(pane);
  const file = join(home.root, "code");
  const line = `'${process.execPath}' '${kiteProgram}' go alice; echo $? > '${file}'; tmux wait-for -S went`;
  tmux("split-window", "-t", "main:0", "-c", home.work, "-e", `KITE_HOME=${home.paths.home}`, line);
  tmux("wait-for", "went");
  expect(execFileSync("cat", [file], { encoding: "utf8" })).toBe("0\n");
  expect(shown()).toBe(pane);
});

test("says outside of tmux how to attach, in a line that does it", async () => {
  if (!hasTmux) return goesNowhere();
  const pane = await agentInPane("alice");
  const { code, out } = await home.command(["go", "alice"], { TMUX_TMPDIR: home.root, COLUMNS: "200" });
  expect(code).toBe(0);
  expect(out).toBe(`alice is in pane ${pane} of tmux. To see it: tmux attach -t main:1.0\n`);
  tmux("set-hook", "-g", "client-attached", "wait-for -S attached");
  const line = out.slice(out.indexOf("tmux attach")).trim();
  home.adopt(
    spawn("script", ["-qfec", `stty cols 80 rows 24; exec ${line}`, "/dev/null"], {
      env: environment(),
      stdio: ["pipe", "ignore", "inherit"],
    }),
  );
  tmux("wait-for", "attached");
  expect(tmux("list-clients", "-F", "#{pane_id}")).toBe(pane);
  // The same server, named as one that tmux would not find by itself.
  const { out: json } = await home.command(["go", "alice", "--json"], { TMUX: "/tmp/other,1,0" });
  expect(JSON.parse(json)).toMatchObject({ ok: true, name: "alice", went: false });
  expect(JSON.parse(json).terminal).toMatch(new RegExp(`^tmux ${pane}, pts/\\d+$`));
  const { out: explained } = await home.command(["explain", "alice"], { COLUMNS: "200" });
  expect(explained).toMatch(new RegExp(`pid \\d+ on tmux ${pane}, pts/\\d+, since`));
});

test("says where an agent is that runs in no tmux, and which names there are", async () => {
  const { pid } = await home.bystander();
  await home.session("bob", { pid });
  await home.session("carol");
  const place = home.work.replace(home.root, "~");
  const bob = await home.command(["go", "bob"], { COLUMNS: "200" });
  expect(bob).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      new RegExp(
        `^bob (works in ${place}; its process ${pid} has no terminal|is on .*process ${pid}, in ${place}\\.)`,
      ),
    ),
  });
  const carol = await home.command(["go", "carol"], { COLUMNS: "200" });
  expect(carol.out).toBe(`carol works in ${place}; Kite knows of no process of it.\n`);
  const nobody = await home.command(["go", "eve"]);
  expect(nobody.code).toBe(1);
  expect(nobody.err).toContain("no agent is called eve; active: bob, carol");
  const agent = await home.command(["go", "bob"], { KITE_SESSION: "carol" });
  expect(agent.code).toBe(1);
  expect(agent.err).toContain("only a person goes to an agent's terminal");
});
