/** What the wire alone costs: lines in, the same objects out. `SOCKET` */
import { createServer } from "node:net";
import { encodeLine, LineDecoder } from "../../../protocol/wire.ts";

const server = createServer(socket => {
  const decoder = new LineDecoder();
  socket.on("data", chunk => {
    let out = "";
    for (const line of decoder.push(chunk)) if ("text" in line) out += encodeLine(JSON.parse(line.text));
    if (out !== "") socket.write(out);
  });
  socket.on("error", () => socket.destroy());
});
server.listen(process.argv[2], () => process.send?.("ready"));
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit());
process.on("SIGINT", () => process.exit());
