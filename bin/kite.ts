// The program's entry. It imports nothing before it has checked Node's version, so that an old Node can still
// report what is wrong.

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

const sayVersion = () => import("./frequent/version.ts");
const runFrequent = () => import("./frequent/commands.ts");

/** Commands that agents and people call often. The build makes one file of each import, which loads faster than many. */
const frequent = new Map([
  ["lock", runFrequent],
  ["status", runFrequent],
  ["task", runFrequent],
  ["--version", sayVersion],
  ["-V", sayVersion],
]);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `kite: needs Node 20.19 or newer, but this is ${process.versions.node}; install a newer Node\n`,
  );
  process.exitCode = 1;
} else {
  const load = frequent.get(process.argv[2] ?? "") ?? (() => import("./any-command.ts"));
  void load().then(({ start }) => start());
}
