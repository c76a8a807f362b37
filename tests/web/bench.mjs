// `npm run bench:web`: how soon a new tab shows the page of a daemon with 50 agents and 500 tasks, beside the same tab with one
// agent; and what `kite web` and the daemon take of the processor while the page stays open. Needs a quiet machine; nothing is
// asserted.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { installBrowser } from "./install-browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const rounds = 9;
const openMs = 10_000;

/** A connection that sends requests and returns their answers. */
function client(socket) {
  const waiting = [];
  let text = "";
  socket.setEncoding("utf8").on("data", piece => {
    const lines = (text + piece).split("\n");
    text = lines.pop();
    for (const line of lines.filter(Boolean)) {
      const answer = JSON.parse(line);
      if ("ok" in answer) waiting.shift()?.(answer);
    }
  });
  return request =>
    new Promise((resolve, reject) => {
      waiting.push(answer => (answer.ok ? resolve(answer) : reject(new Error(answer.error))));
      socket.write(`${JSON.stringify(request)}\n`);
    });
}

/** A daemon in a home of its own with so many agents, each of which holds a file, and so many tasks in chains of ten. */
async function world(agents, tasks) {
  const home = mkdtempSync(join(tmpdir(), "kw-"));
  const work = join(home, "work");
  mkdirSync(work);
  const env = { PATH: process.env.PATH, HOME: home, KITE_HOME: join(home, "k") };
  const daemon = spawn(process.execPath, [join(root, "dist/daemon.mjs")], {
    env: { ...env, KITE_READY_FD: "3" },
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  await once(daemon.stdio[3], "data");
  const socket = connect(join(home, "k/kite.sock"));
  await once(socket, "connect");
  const ask = client(socket);
  for (let n = 0; n < agents; n += 1) {
    const id = `11111111-1111-4111-8111-${String(n).padStart(12, "0")}`;
    await ask({ type: "register", id, cwd: work, name: `agent${n}` });
    await ask({ type: "file_lock", id, cwd: work, file: `src/${n}.ts` });
  }
  let before = null;
  for (let n = 0; n < tasks; n += 1) {
    const dependsOn = n % 10 === 0 || before === null ? [] : [before];
    const { task } = await ask({
      type: "task_create",
      id: "11111111-1111-4111-8111-000000000000",
      description: `Task ${n} of the plan`,
      dependsOn,
    });
    before = task.id;
  }
  return {
    env,
    work,
    daemon,
    end: async () => {
      socket.destroy();
      const ended = once(daemon, "exit");
      daemon.kill("SIGTERM");
      await ended;
      rmSync(home, { recursive: true, force: true, maxRetries: 9 });
    },
  };
}

/** Starts `kite web`; returns its process and an address. */
async function page({ env, work }) {
  const web = spawn(join(root, "bin/kite"), ["web", "--json", "--port", "0"], {
    cwd: work,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(web.stdout.setEncoding("utf8"), "data");
  return { web, ...JSON.parse(line) };
}

async function end(child) {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** Milliseconds from the navigation to the frame that shows all agents, or all that the list of tasks has room for. */
async function firstPaint(browser, address, path, isThere) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const tab = await context.newPage();
  // As text, because the page's policy lets nothing be evaluated in it.
  await tab.addInitScript({
    content: `{
      const look = () => {
        const isShown = document.querySelector("main h1") !== null && (${isThere});
        requestAnimationFrame(isShown ? () => { globalThis.paintedMs = performance.now(); } : look);
      };
      requestAnimationFrame(look);
    }`,
  });
  await tab.goto(address.replace("/#", `/${path}#`));
  const painted = await tab.waitForFunction(() => globalThis.paintedMs, null, { timeout: 60_000 });
  const ms = await painted.jsonValue();
  await context.close();
  return ms;
}

/** Processor time of a process so far, in milliseconds. */
function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const median = numbers => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
const shown = numbers =>
  `${Math.min(...numbers).toFixed(0)} / ${median(numbers).toFixed(0)} / ${Math.max(...numbers).toFixed(0)} ms (least, median, most)`;

const { program, version } = await installBrowser();
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
const [small, large] = [await world(1, 1), await world(50, 500)];
try {
  const looks = [
    ["now", n => `document.querySelectorAll("main tbody tr").length >= ${n}`],
    ["tasks", n => `document.querySelectorAll("main figure svg g, main .what").length >= ${Math.min(n, 10)}`],
  ];
  for (const [path, isThere] of looks) {
    const times = { small: [], large: [] };
    for (let n = 0; n < rounds; n += 1) {
      for (const [name, one, count] of [
        ["small", small, 1],
        ["large", large, 50],
      ]) {
        const { web, address } = await page(one);
        times[name].push(await firstPaint(browser, address, path, isThere(count)));
        await end(web);
      }
    }
    console.log(`${path}: first paint with 1 agent   ${shown(times.small)}`);
    console.log(
      `${path}: with 50 agents, 500 tasks  ${shown(times.large)}: ${(median(times.large) / median(times.small)).toFixed(2)} times that`,
    );
  }
  const { web, address } = await page(large);
  const context = await browser.newContext();
  const tab = await context.newPage();
  await tab.goto(address);
  await tab.locator("main tbody tr").first().waitFor();
  const before = [processorMs(web.pid), processorMs(large.daemon.pid)];
  await delay(openMs);
  const after = [processorMs(web.pid), processorMs(large.daemon.pid)];
  const share = n => (((after[n] - before[n]) / openMs) * 100).toFixed(1);
  console.log(
    `a page of 50 agents at rest, open for ${openMs / 1000} s: kite web ${share(0)} %, the daemon ${share(1)} % of a processor`,
  );
  await context.close();
  await end(web);
  console.log(`${version}, node ${process.version}, load ${loadavg()[0].toFixed(1)}`);
} finally {
  await browser.close();
  await small.end();
  await large.end();
}
