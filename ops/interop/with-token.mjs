// A proxy that adds the token, for suites that cannot send one. Everything else passes as it came:
// Host and Origin too, which a suite may have set to find out whether they are looked at.
import { createServer, request } from "node:http";

const target = new URL(process.env.HELIX_URL);

const server = createServer((asked, answer) => {
  const headers = { ...asked.headers };
  headers.authorization ??= `Bearer ${process.env.HELIX_TOKEN}`;
  const passed = request(
    { host: target.hostname, port: target.port, method: asked.method, path: asked.url, headers },
    (reply) => {
      answer.writeHead(reply.statusCode, reply.rawHeaders);
      reply.pipe(answer);
    },
  );
  passed.on("error", () => answer.destroy());
  asked.pipe(passed);
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
