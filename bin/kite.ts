// The program's entry. It imports nothing before it has checked Node's version, so that an old Node can still
// report what is wrong.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `kite: needs Node 20.19 or newer, but this is ${process.versions.node}; install a newer Node\n`,
  );
  process.exitCode = 1;
} else {
  const { run } = await import("./program.ts");
  await run(process.argv);
}
