import { onSdkV1 } from '../../server/binding.ts';

onSdkV1();
await import('../g2-stdio.test.ts');
