import { dbosEngine } from './dbos.js';
import { restateEngine } from './restate.js';

dbosEngine({ databaseUrl: 'postgresql://localhost/db', pollMs: 100 });
// @ts-expect-error The database is needed.
dbosEngine({});
// @ts-expect-error DBOS's limits over workers are not ours: limits stand in the queues of `durable`.
dbosEngine({ databaseUrl: 'postgresql://localhost/db', concurrency: 4 });

restateEngine({ ingressUrl: 'http://localhost:8080', adminUrl: 'http://localhost:9070' });
// @ts-expect-error The ingress is needed.
restateEngine({ adminUrl: 'http://localhost:9070' });
// @ts-expect-error A port is a number.
restateEngine({ ingressUrl: 'http://localhost:8080', port: '9080' });
