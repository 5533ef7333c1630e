// Package mailbox carries values between two workers: a bounded queue with one producer
// and one consumer, and the bell by which a worker knows whether another has to be woken.
//
//	producer: Put, Put ... Publish ----> [ slots ] ----> Take, Take ... Done :consumer
//	          Taken, Room <-------------------------------------'
//
// Rules, which nobody checks but the race detector:
//
//   - A Queue has one producer and one consumer, each on a thread of its own. The methods
//     of one side are never called by the other.
//   - What Put has returned may be changed until Publish, and is read only behind it.
//   - What Take has returned stays as it is until Done; from then on Taken tells the producer
//     that the consumer needs nothing of it any more. Whatever a value only names, such as
//     bytes in the memory of the producer, is lent for just as long.
//   - The consumer announces with Bell.Sleep that it is going to wait, then looks once more
//     whether Notes has changed since it looked into its queues, and then waits. A producer
//     calls Note after Publish, and then rings if Needed says so. One of the two sees the other:
//     the operations of sync/atomic are in one order.
package mailbox
