#!/usr/bin/perl
# Regular expressions, files, forks, pipes, and modules of the standard distribution.
use strict;
use warnings;
use utf8;
use Digest::SHA qw(sha256_hex);
use Encode qw(encode_utf8);
use File::Spec;
use File::Temp qw(tempdir);
use IO::Handle;
use JSON::PP;
use List::Util qw(sum max first shuffle);
use MIME::Base64;
use POSIX qw(floor strftime);
use Storable qw(dclone);
use Time::HiRes qw(time sleep);
use Time::Local qw(timegm);

$| = 1;
my $folder = tempdir(CLEANUP => 1);
my $path = File::Spec->catfile($folder, 'log.txt');
open(my $out, '>', $path) or die "open: $!";
print $out "$_\n" for ('GET /a 200', 'GET /b 404', 'POST /a 200', 'GET /a 500');
close($out);

my %by_status;
open(my $in, '<', $path) or die "open: $!";
while (my $line = <$in>) {
	push @{ $by_status{$3} }, "$1 $2" if $line =~ m{^(\w+) (\S+) (\d+)$};
}
close($in);
my $json = JSON::PP->new->canonical;
print 'json ', $json->encode(\%by_status), "\n";
print 'copy ', scalar keys %{ dclone(\%by_status) }, "\n";

print 'list ', sum(1 .. 100), ' ', max(3, 9, 4), ' ', first { $_ > 5 } (2, 7, 9);
print "\n";
print 'sort ', join(',', sort { $b <=> $a } shuffle(1 .. 5)), "\n";
print 'sha ', substr(sha256_hex(encode_utf8('größe')), 0, 16), ' ', encode_base64('brig', ''), "\n";

pipe(my $reader, my $writer) or die "pipe: $!";
my @children;
for my $number (1 .. 3) {
	my $pid = fork() // die "fork: $!";
	if ($pid == 0) {
		syswrite($writer, $number ** 2 . "\n");
		POSIX::_exit($number);
	}
	push @children, $pid;
}
close($writer);
my @codes = map { waitpid($_, 0); $? >> 8 } @children;
print 'fork ', join(',', sort map { s/\n//r } <$reader>), " exits @codes\n";
print 'shell ', `x="from sh"; echo \$x`;
print 'posix ', floor(-2.5), ' ', strftime('%Y-%m-%d', gmtime(timegm(0, 0, 0, 29, 1, 2024))), "\n";
eval { die { code => 42 } };
print "caught $@->{code}\n";
mkdir 'out';
open($out, '>', 'out/report.txt') or die "open: $!";
print $out "done\n";
close($out);
print 'file ', -s 'out/report.txt', "\n";
